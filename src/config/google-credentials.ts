// Google's credential files: a service account's key, workload identity federation, a user's login. They are read with
// the configuration, and checked as far as possible without a network.
import { createPrivateKey } from "node:crypto"
import { quoteName } from "../canonical/nearest-name.ts"
import type {
  AuthorizedUser,
  ExternalAccount,
  GoogleCredentials,
  ServiceAccount,
  SubjectTokenSource,
} from "./config.ts"
import { ParseProblem, type TextParser } from "./config-shape.ts"
import { type CredentialFileContext, readCredentialFile } from "./credential-file.ts"
import { isOnThisMachine } from "./parse-values.ts"
import { Secret } from "./secret.ts"

const DEFAULT_TOKEN_URI = "https://oauth2.googleapis.com/token"
/** The metadata server on virtual machines of other clouds. */
const METADATA_HOST = "169.254.169.254"

type CredentialMembers = Readonly<Record<string, unknown>>

/** Parses the path of such a file into its content. */
export function googleCredentials(reading: CredentialFileContext): TextParser<GoogleCredentials> {
  return (path) => {
    const file = readCredentialFile(path, reading)
    if (file instanceof ParseProblem) return file
    const members = parseObject(file.text.reveal())
    if (!members) return new ParseProblem(`the file ${file.path} is not a JSON object`)
    const kind = KINDS.find(({ type }) => type === members.type)
    if (!kind) return new ParseProblem(`the file ${file.path} ${unknownType(members.type)}`)
    const read = kind.read(members, file.path)
    return read instanceof ParseProblem
      ? new ParseProblem(`the file ${file.path} is not ${kind.name}: ${read.message}`)
      : read
  }
}

const KINDS = [
  { type: "service_account", name: "a service account's key", read: readServiceAccount },
  { type: "external_account", name: "a workload identity", read: readExternalAccount },
  { type: "authorized_user", name: "a user's credential", read: readAuthorizedUser },
] as const

function unknownType(type: unknown): string {
  const known = KINDS.map((kind) => quoteName(kind.type)).join(", ")
  return `is not a known kind of credential: its "type" is ${quoteName(String(type))}, not one of ${known}`
}

function parseObject(text: string): CredentialMembers | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is CredentialMembers {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function readServiceAccount(members: CredentialMembers, file: string): ServiceAccount | ParseProblem {
  const texts = requireTexts(members, ["client_email", "private_key"])
  if (texts instanceof ParseProblem) return texts
  const tokenUri = readUrl(members, "token_uri", { otherwise: DEFAULT_TOKEN_URI })
  if (!isRsaKey(texts.private_key)) return new ParseProblem('its "private_key" is not an RSA key in PEM')
  if (tokenUri instanceof ParseProblem) return tokenUri
  const keyId = members.private_key_id
  return {
    type: "service_account",
    file,
    clientEmail: texts.client_email,
    privateKey: new Secret(texts.private_key),
    tokenUri,
    ...(typeof keyId === "string" && { privateKeyId: keyId }),
  }
}

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === "rsa"
  } catch {
    return false
  }
}

function readAuthorizedUser(members: CredentialMembers, file: string): AuthorizedUser | ParseProblem {
  const texts = requireTexts(members, ["client_id", "client_secret", "refresh_token"])
  if (texts instanceof ParseProblem) return texts
  const tokenUri = readUrl(members, "token_uri", { otherwise: DEFAULT_TOKEN_URI })
  if (tokenUri instanceof ParseProblem) return tokenUri
  return {
    type: "authorized_user",
    file,
    clientId: texts.client_id,
    clientSecret: new Secret(texts.client_secret),
    refreshToken: new Secret(texts.refresh_token),
    tokenUri,
  }
}

function readExternalAccount(members: CredentialMembers, file: string): ExternalAccount | ParseProblem {
  const texts = requireTexts(members, ["audience", "subject_token_type", "token_url"])
  if (texts instanceof ParseProblem) return texts
  if (members.workforce_pool_user_project !== undefined) {
    return new ParseProblem("workforce pools, which are for people, are not supported; use a workload identity pool")
  }
  const tokenUrl = readUrl(members, "token_url")
  if (tokenUrl instanceof ParseProblem) return tokenUrl
  const impersonating = members.service_account_impersonation_url !== undefined
  const impersonationUrl = impersonating ? readUrl(members, "service_account_impersonation_url") : undefined
  if (impersonationUrl instanceof ParseProblem) return impersonationUrl
  const subjectToken = readSubjectTokenSource(members.credential_source)
  if (subjectToken instanceof ParseProblem) return subjectToken
  const { service_account_impersonation: lifetime, client_id: clientId, client_secret: clientSecret } = members
  const seconds = isObject(lifetime) ? lifetime.token_lifetime_seconds : undefined
  return {
    type: "external_account",
    file,
    audience: texts.audience,
    subjectTokenType: texts.subject_token_type,
    subjectToken,
    tokenUrl,
    ...(impersonationUrl !== undefined && { impersonationUrl }),
    ...(Number.isSafeInteger(seconds) && { impersonationSeconds: seconds as number }),
    ...(typeof clientId === "string" && { clientId }),
    ...(typeof clientSecret === "string" && { clientSecret: new Secret(clientSecret) }),
  }
}

function readSubjectTokenSource(source: unknown): SubjectTokenSource | ParseProblem {
  const members = isObject(source) ? source : {}
  const { format, headers = {}, file } = members
  const isJson = isObject(format) && format.type === "json"
  const field = isJson ? format.subject_token_field_name : undefined
  if (isJson && typeof field !== "string") return new ParseProblem('its "format" lacks the "subject_token_field_name"')
  const named = typeof field === "string" ? { field } : {}
  // With an environment_id the address is AWS's, which is not a supported token source.
  if (members.environment_id === undefined && typeof file === "string" && file !== "") return { ...named, file }
  if (members.environment_id !== undefined || members.url === undefined) {
    return new ParseProblem(
      'its "credential_source" needs a "file" or a "url"; AWS, executables and certificates are not supported',
    )
  }
  const url = readUrl(members, "url", { allowed: [METADATA_HOST] })
  if (url instanceof ParseProblem) return url
  const sound = isObject(headers) && Object.values(headers).every((value) => typeof value === "string")
  return sound
    ? { ...named, url, headers: headers as Record<string, string> }
    : new ParseProblem('its "headers" must be strings')
}

function requireTexts<const Name extends string>(
  members: CredentialMembers,
  names: readonly Name[],
): Record<Name, string> | ParseProblem {
  const missing = names.find((name) => typeof members[name] !== "string" || members[name] === "")
  if (missing !== undefined) return new ParseProblem(`the member ${quoteName(missing)} is missing`)
  return Object.fromEntries(names.map((name) => [name, members[name]])) as Record<Name, string>
}

interface UrlOptions {
  readonly otherwise?: string
  /** Hosts that may be called without TLS, in addition to this machine. */
  readonly allowed?: readonly string[]
}

/** An address that receives a token, so it must be confidential. */
function readUrl(
  members: CredentialMembers,
  name: string,
  { otherwise, allowed = [] }: UrlOptions = {},
): string | ParseProblem {
  const value = members[name] ?? otherwise
  if (typeof value !== "string" || !/^https?:\/\//i.test(value) || !URL.canParse(value)) {
    return new ParseProblem(`its ${quoteName(name)} is not an address`)
  }
  const { protocol, hostname } = new URL(value)
  const isSafe = protocol === "https:" || isOnThisMachine(hostname) || allowed.includes(hostname)
  return isSafe ? value : new ParseProblem(`its ${quoteName(name)} is neither https nor on this machine`)
}
