// The keys of a role as AWS gives them to what runs there: for a web identity, in a container, on an instance. The first of
// these that the environment speaks of is used; when it fails no other is tried, so that no call is made in another's name.
import { containerSource } from "./aws-container.ts"
import { instanceSource } from "./aws-instance.ts"
import type { AwsVariables } from "./aws-variables.ts"
import { webIdentitySource } from "./aws-web-identity.ts"
import type { AwsKeys, CloudCredentialSource } from "./credential-source.ts"

export function awsSource(variables: AwsVariables, region: string): CloudCredentialSource<AwsKeys> {
  if (variables.has("AWS_WEB_IDENTITY_TOKEN_FILE")) return webIdentitySource(variables, region)
  const inContainer =
    variables.has("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") || variables.has("AWS_CONTAINER_CREDENTIALS_FULL_URI")
  return inContainer ? containerSource(variables) : instanceSource(variables)
}
