// A Google service account's key file. It is read when the configuration is, and checked as far as that is possible
// without asking anybody.
import { createPrivateKey } from "node:crypto"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { quoted } from "../canonical/nearest.ts"
import type { ServiceAccount } from "./config.ts"
import { Secret } from "./secret.ts"
import { type Parser, Wrong } from "./shape.ts"

const TYPE = "service_account"
const DEFAULT_TOKEN_URI = "https://oauth2.googleapis.com/token"

/** The path of such a file, as what stands in it; a relative one starts at `workingDir`. */
export function serviceAccount(workingDir: string): Parser<ServiceAccount> {
  return (path) => {
    const file = resolve(workingDir, path)
    const text = readText(file)
    if (text instanceof Wrong) return text
    const members = membersOf(text)
    return members ? accountOf(members, file) : new Wrong(`the file ${file} is not a JSON object`)
  }
}

function readText(file: string): string | Wrong {
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error"
    return new Wrong(code === "ENOENT" ? `there is no file ${file}` : `the file ${file} cannot be read (${code})`)
  }
}

function membersOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function accountOf(members: Record<string, unknown>, file: string): ServiceAccount | Wrong {
  const { type, client_email: email, private_key: key, private_key_id: keyId, token_uri: given } = members
  const uri = given ?? DEFAULT_TOKEN_URI
  const wrong = (why: string) => new Wrong(`the file ${file} is not a service account's key: ${why}`)
  if (type !== TYPE) return wrong(`its "type" is ${quoted(String(type))}, not ${quoted(TYPE)}`)
  if (typeof email !== "string" || email === "") return wrong('the member "client_email" is missing')
  if (typeof key !== "string" || key === "") return wrong('the member "private_key" is missing')
  if (!isRsaKey(key)) return wrong('its "private_key" is not an RSA key in PEM')
  if (typeof uri !== "string" || !/^https?:\/\//.test(uri) || !URL.canParse(uri)) {
    return wrong('its "token_uri" is not an address')
  }
  return {
    clientEmail: email,
    privateKey: new Secret(key),
    tokenUri: uri,
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
