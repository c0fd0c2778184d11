// The secret of keyed hashes: from the environment, else a file created at first start. The gateway refuses a store
// whose keys were hashed with another secret, because it would recognise no caller.
import { createHmac, randomBytes } from "node:crypto"
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs"
import { join } from "node:path"
import { Secret } from "../../config/secret.ts"
import type { SecretMarks } from "../../store/contract.ts"

interface HashingSecretOptions {
  readonly dataDir: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Marks by which the store recognises its secret. */
  readonly marks: SecretMarks
  /** The number of stored keys that were hashed with it. */
  readonly keyCount: () => number
  /** Called with the data that is lost. If it returns, another secret replaces the lost one. */
  readonly onLoss?: ((what: string) => void) | undefined
}

const LEAST_LENGTH = 32

/** The current secret first; during a rotation, the previous one second. */
export function loadHashingSecrets(options: HashingSecretOptions): Secret[] {
  const { environment, marks, keyCount, onLoss = refuseLoss } = options
  const { TRIVIUM_SECRET: given, TRIVIUM_SECRET_PREVIOUS: previous } = environment
  const isNew = !given && isFirstSecret({ ...options, onLoss })
  const current = given ? readGivenSecret(given) : readSecretFile(options.dataDir, { isNew })
  const secrets = [current, ...(previous ? [new Secret(previous)] : [])]
  const known = marks.read()
  const isKnown = known === undefined || isNew || secrets.some((secret) => markOf(secret) === known)
  if (!isKnown && keyCount() > 0) {
    const which = given ? "TRIVIUM_SECRET" : `the secret in ${secretPath(options.dataDir)}`
    onLoss(`The store's ${keyCount()} API keys were created with a different secret than ${which}.`)
  }
  if (markOf(current) !== known) marks.write(markOf(current))
  return secrets
}

function readGivenSecret(text: string): Secret {
  if (text.length >= LEAST_LENGTH) return new Secret(text)
  const shorter = `TRIVIUM_SECRET has ${text.length} characters; at least ${LEAST_LENGTH} are required.`
  const rotate =
    "Generate one (for example with `openssl rand -hex 32`), and set TRIVIUM_SECRET_PREVIOUS to the old one."
  throw new Error(`${shorter} ${rotate}`)
}

type CheckedSecretOptions = HashingSecretOptions & { readonly onLoss: (what: string) => void }

/** True if no secret was ever created. */
function isFirstSecret({ dataDir, keyCount, onLoss }: CheckedSecretOptions): boolean {
  const path = secretPath(dataDir)
  if (existsSync(path)) return false
  if (keyCount() > 0)
    onLoss(`The secret file ${path} is missing; the store's ${keyCount()} API keys were created with it.`)
  return true
}

function readSecretFile(dataDir: string, { isNew }: { readonly isNew: boolean }): Secret {
  const path = secretPath(dataDir)
  if (isNew) {
    mkdirSync(dataDir, { recursive: true })
    writeSecretFile(path, `${randomBytes(32).toString("hex")}\n`)
  }
  const text = readFileSync(path, "utf8").trim()
  if (text.length < LEAST_LENGTH)
    throw new Error(`${path} does not contain a secret of at least ${LEAST_LENGTH} characters.`)
  return new Secret(text)
}

/** Written durably before anything that depends on it. */
function writeSecretFile(path: string, text: string): void {
  const file = openSync(path, "wx", 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function refuseLoss(what: string): never {
  const wouldBe = "Without it, no API key is accepted and no sealed data can be read."
  const putBack = "Restore the secret, or set it as TRIVIUM_SECRET or TRIVIUM_SECRET_PREVIOUS."
  const acceptLoss = "To continue without it, start once with --accept-loss and create all keys again."
  throw new Error(`${what} ${wouldBe} ${putBack} ${acceptLoss}`)
}

/** A mark that reveals nothing about the secret. */
function markOf(secret: Secret): string {
  return createHmac("sha256", secret.reveal()).update("trivium secret mark").digest("base64url")
}

function secretPath(dataDir: string): string {
  return join(dataDir, "secret")
}
