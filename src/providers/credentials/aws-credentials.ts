// The keys of an AWS role: from a web identity, in a container, or on an instance. The first source that the
// environment configures is used; if it fails no other is tried, so that no call uses another identity.
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
