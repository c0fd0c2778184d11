// The keys of a role in the format of AWS's metadata servers.
import { Secret } from "../../config/secret.ts"
import { type CredentialResponse, credentialRefusal, isHeaderText, responseMembers } from "./credential-request.ts"
import { type AwsKeys, CredentialError, type IssuedCredential } from "./credential-source.ts"

export function readKeys(answer: CredentialResponse): IssuedCredential<AwsKeys> {
  const { AccessKeyId, SecretAccessKey, Token, Expiration, Code, code } = responseMembers(answer)
  if (answer.status !== 200) throw credentialRefusal(answer, Code ?? code)
  return makeKeys({ AccessKeyId, SecretAccessKey, Token, Expiration })
}

type AwsKeyMembers = Readonly<Record<"AccessKeyId" | "SecretAccessKey" | "Token" | "Expiration", unknown>>

export function makeKeys({
  AccessKeyId: id,
  SecretAccessKey: key,
  Token: token,
  Expiration: end,
}: AwsKeyMembers): IssuedCredential<AwsKeys> {
  const expiresAt = typeof end === "string" ? Date.parse(end) : Number.NaN
  if (!isHeaderText(id) || !isHeaderText(key) || !isHeaderText(token) || Number.isNaN(expiresAt)) {
    throw new CredentialError("its response contains no credential")
  }
  const credential = {
    accessKeyId: new Secret(id),
    secretAccessKey: new Secret(key),
    sessionToken: new Secret(token),
  }
  return { credential, expiresAt }
}
