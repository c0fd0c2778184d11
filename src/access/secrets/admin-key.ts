// The administration key: from the environment, else a file created at first start, which the CLI reads too.
import { createHash, timingSafeEqual } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Secret } from "../../config/secret.ts"
import { mintKey } from "../key-text.ts"

const MIN_ADMIN_KEY_LENGTH = 24

type AdminKeyEnvironment = Readonly<Record<string, string | undefined>>

/** The key of the gateway on this data folder, if it has one. */
export function findAdminKey(dataDir: string, environment: AdminKeyEnvironment): Secret | undefined {
  const given = environment.TRIVIUM_ADMIN_KEY
  if (given) return checkAdminKey(given, "TRIVIUM_ADMIN_KEY")
  const path = adminKeyPath(dataDir)
  return existsSync(path) ? checkAdminKey(readFileSync(path, "utf8").trim(), path) : undefined
}

/** Like `knownAdminKey`, but creates one if there is none. */
export function findOrCreateAdminKey(dataDir: string, environment: AdminKeyEnvironment): Secret {
  const known = findAdminKey(dataDir, environment)
  if (known) return known
  const text = mintKey("tra_")
  mkdirSync(dataDir, { recursive: true })
  writeFileSync(adminKeyPath(dataDir), `${text}\n`, { mode: 0o600, flag: "wx" })
  return new Secret(text)
}

/** Compares in constant time. */
export function isSameKey(presented: string, key: Secret): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest()
  return timingSafeEqual(digest(presented), digest(key.reveal()))
}

function adminKeyPath(dataDir: string): string {
  return join(dataDir, "admin-key")
}

function checkAdminKey(text: string, from: string): Secret {
  if (text.length >= MIN_ADMIN_KEY_LENGTH && /^[\x21-\x7e]+$/.test(text)) return new Secret(text)
  throw new Error(
    `${from} must contain an administration key of at least ${MIN_ADMIN_KEY_LENGTH} characters without spaces.`,
  )
}
