// The role of an EC2 instance, from its metadata service, version 2.
import type { Abort } from "../../transport/abort.ts"
import { readKeys } from "./aws-keys.ts"
import type { AwsVariables } from "./aws-variables.ts"
import { credentialRefusal, fetchCredential, isHeaderText } from "./credential-request.ts"
import { type AwsKeys, type CloudCredentialSource, CredentialError } from "./credential-source.ts"

const HOSTS = { ipv4: "http://169.254.169.254", ipv6: "http://[fd00:ec2::254]" }
const TOKEN_PATH = "/latest/api/token"
const ROLE_PATH = "/latest/meta-data/iam/security-credentials/"
const TOKEN_SECONDS = "21600"

export function instanceSource(variables: AwsVariables): CloudCredentialSource<AwsKeys> {
  const isV6 = variables.get("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE")?.toLowerCase() === "ipv6"
  const given = variables.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") ?? (isV6 ? HOSTS.ipv6 : HOSTS.ipv4)
  const endpoint = given.replace(/\/+$/, "")
  return {
    name: "instance metadata",
    remedy:
      "On EC2, attach an instance profile (in a container the hop limit of the metadata must be 2); elsewhere give access_key_id and secret_access_key, or api_key",
    async fetch(abort) {
      if (variables.get("AWS_EC2_METADATA_DISABLED")?.toLowerCase() === "true") {
        throw new CredentialError("nothing names a credential, and AWS_EC2_METADATA_DISABLED is true")
      }
      const headers = { "x-aws-ec2-metadata-token": await sessionToken(endpoint, abort) }
      const role = await roleName(endpoint, headers, abort)
      const url = `${endpoint}${ROLE_PATH}${encodeURIComponent(role)}`
      return readKeys(await fetchCredential({ method: "GET", url, headers }, abort))
    },
  }
}

async function sessionToken(endpoint: string, abort: Abort): Promise<string> {
  const headers = { "x-aws-ec2-metadata-token-ttl-seconds": TOKEN_SECONDS }
  const answer = await fetchCredential({ method: "PUT", url: endpoint + TOKEN_PATH, headers }, abort)
  const token = answer.text.trim()
  if (answer.status !== 200 || !isHeaderText(token)) throw credentialRefusal(answer, undefined)
  return token
}

async function roleName(endpoint: string, headers: Readonly<Record<string, string>>, abort: Abort): Promise<string> {
  const answer = await fetchCredential({ method: "GET", url: endpoint + ROLE_PATH, headers }, abort)
  const [role = ""] = answer.text.trim().split("\n")
  if (answer.status === 404 || (answer.status === 200 && role === "")) {
    throw new CredentialError("the instance has no role")
  }
  if (answer.status !== 200) throw credentialRefusal(answer, undefined)
  return role.trim()
}
