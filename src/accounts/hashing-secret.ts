// The secret that keyed hashes are made with: from the environment, else a file made at first start.
import { randomBytes } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Secret } from "../config/secret.ts"

/** The current secret first; while one is being rotated, the one before it second. */
export function hashingSecrets(dataDir: string, environment: Readonly<Record<string, string | undefined>>): Secret[] {
  const current = environment.TRIVIUM_SECRET
  const previous = environment.TRIVIUM_SECRET_PREVIOUS
  const secrets = [current ? new Secret(current) : secretFile(dataDir)]
  if (previous) secrets.push(new Secret(previous))
  return secrets
}

function secretFile(dataDir: string): Secret {
  const path = join(dataDir, "secret")
  if (!existsSync(path)) {
    mkdirSync(dataDir, { recursive: true })
    writeFileSync(path, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600, flag: "wx" })
  }
  const text = readFileSync(path, "utf8").trim()
  if (text.length < 32) throw new Error(`${path} does not hold a secret of at least 32 characters.`)
  return new Secret(text)
}
