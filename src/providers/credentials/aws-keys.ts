// The keys of a role in the words of AWS's metadata servers.
import { Secret } from "../../config/secret.ts"
import { answerMembers, type CredentialAnswer, isHeaderText, refusal } from "./credential-request.ts"
import { type AwsKeys, CredentialError, type Issued } from "./credential-source.ts"

export function readKeys(answer: CredentialAnswer): Issued<AwsKeys> {
  const { AccessKeyId, SecretAccessKey, Token, Expiration, Code, code } = answerMembers(answer)
  if (answer.status !== 200) throw refusal(answer, Code ?? code)
  return makeKeys({ AccessKeyId, SecretAccessKey, Token, Expiration })
}

type Named = Readonly<Record<"AccessKeyId" | "SecretAccessKey" | "Token" | "Expiration", unknown>>

export function makeKeys({
  AccessKeyId: id,
  SecretAccessKey: key,
  Token: token,
  Expiration: end,
}: Named): Issued<AwsKeys> {
  const expiresAt = typeof end === "string" ? Date.parse(end) : Number.NaN
  if (!isHeaderText(id) || !isHeaderText(key) || !isHeaderText(token) || Number.isNaN(expiresAt)) {
    throw new CredentialError("its answer holds no credential")
  }
  const credential = {
    accessKeyId: new Secret(id),
    secretAccessKey: new Secret(key),
    sessionToken: new Secret(token),
  }
  return { credential, expiresAt }
}
