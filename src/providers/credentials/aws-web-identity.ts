// A role for the token of an identity provider that the platform keeps in a file, as for EKS service accounts.
import { isOnThisMachine } from "../../config/parse-values.ts"
import { makeKeys } from "./aws-keys.ts"
import type { AwsVariables } from "./aws-variables.ts"
import { credentialRefusal, fetchCredential, formRequest, readTokenFile } from "./credential-request.ts"
import {
  type AwsKeys,
  type CloudCredentialSource,
  CredentialError,
  type IssuedCredential,
} from "./credential-source.ts"

export function webIdentitySource(variables: AwsVariables, region: string): CloudCredentialSource<AwsKeys> {
  const tokenFile = variables.get("AWS_WEB_IDENTITY_TOKEN_FILE") ?? ""
  const role = variables.get("AWS_ROLE_ARN")
  const session = variables.get("AWS_ROLE_SESSION_NAME") ?? "trivium"
  const endpoint = variables.get("AWS_ENDPOINT_URL_STS") ?? regionalEndpoint(region)
  return {
    name: `web identity (${role ?? "AWS_ROLE_ARN is not set"})`,
    remedy: "Check AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE and the role's trust policy",
    async fetch(abort) {
      if (role === undefined) throw new CredentialError("AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not")
      requireTls(endpoint)
      const token = await readTokenFile(tokenFile)
      const parameters = { RoleArn: role, RoleSessionName: session, WebIdentityToken: token }
      const fields = { Action: "AssumeRoleWithWebIdentity", Version: "2011-06-15", ...parameters }
      return readAssumedRole(await fetchCredential(formRequest(endpoint, fields), abort))
    },
  }
}

function regionalEndpoint(region: string): string {
  return `https://sts.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}/`
}

function requireTls(endpoint: string): void {
  const { protocol, hostname } = URL.canParse(endpoint) ? new URL(endpoint) : { protocol: "", hostname: "" }
  if (protocol === "https:" || (protocol === "http:" && isOnThisMachine(hostname))) return
  throw new CredentialError("AWS_ENDPOINT_URL_STS is neither an https address nor on this machine")
}

/** STS answers in XML; the values read here are never escaped. */
function readAssumedRole(answer: { readonly status: number; readonly text: string }): IssuedCredential<AwsKeys> {
  const element = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(answer.text)?.[1]?.trim()
  if (answer.status !== 200) throw credentialRefusal(answer, element("Code"))
  return makeKeys({
    AccessKeyId: element("AccessKeyId"),
    SecretAccessKey: element("SecretAccessKey"),
    Token: element("SessionToken"),
    Expiration: element("Expiration"),
  })
}
