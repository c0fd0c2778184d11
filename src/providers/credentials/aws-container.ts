// The role of a container: of a task in ECS, or of a pod in EKS (Pod Identity).
import { isOnThisMachine } from "../../config/parse-values.ts"
import { readKeys } from "./aws-keys.ts"
import type { AwsVariables } from "./aws-variables.ts"
import { fetchCredential, readTokenFile } from "./credential-request.ts"
import { type AwsKeys, type CloudCredentialSource, CredentialError } from "./credential-source.ts"

const ECS_HOST = "http://169.254.170.2"
/** Hosts that AWS's own libraries call without TLS, in addition to this machine: ECS and the EKS agent. */
const PLAIN_HOSTS = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"]

export function containerSource(variables: AwsVariables): CloudCredentialSource<AwsKeys> {
  const relative = variables.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
  const url = relative === undefined ? variables.get("AWS_CONTAINER_CREDENTIALS_FULL_URI") : ECS_HOST + relative
  return {
    name: "container credentials",
    remedy: "Check the task's role, or the pod's association with one, and AWS_CONTAINER_CREDENTIALS_*",
    async fetch(abort) {
      const authorization = await authorizationOf(variables)
      const headers = authorization === undefined ? {} : { authorization }
      return readKeys(await fetchCredential({ method: "GET", url: requireKnownHost(url ?? ""), headers }, abort))
    },
  }
}

function requireKnownHost(url: string): string {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: "", hostname: "" }
  const isPlain = protocol === "http:" && (PLAIN_HOSTS.includes(hostname) || isOnThisMachine(hostname))
  if (protocol === "https:" || isPlain) return url
  throw new CredentialError(
    "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither an https address, nor on this machine, nor that of ECS or EKS",
  )
}

/** The file takes precedence, because it is rewritten; it is read for every use. */
async function authorizationOf(variables: AwsVariables): Promise<string | undefined> {
  const file = variables.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
  const token = file === undefined ? variables.get("AWS_CONTAINER_AUTHORIZATION_TOKEN") : await readTokenFile(file)
  if (token === undefined || /^[\x20-\x7e]+$/.test(token)) return token
  throw new CredentialError("its authorization token cannot be the value of a header")
}
