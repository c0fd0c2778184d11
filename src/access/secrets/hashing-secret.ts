// The secret that keyed hashes are made with: from the environment, else a file made at first start. A store whose keys
// were made with another one is not served: no caller would be recognised.
import { createHmac, randomBytes } from "node:crypto"
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs"
import { join } from "node:path"
import { Secret } from "../../config/secret.ts"
import type { SecretMarks } from "../../store/contract.ts"

interface HashingSecretOptions {
  readonly dataDir: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** By which the store knows its secret again. */
  readonly marks: SecretMarks
  /** How many keys the store has that were made with it. */
  readonly keyCount: () => number
  /** Called with what is lost. Where it returns, another secret takes its place. */
  readonly onLoss?: ((what: string) => void) | undefined
}

const LEAST_LENGTH = 32

/** The current secret first; while one is being rotated, the one before it second. */
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

/** Whether there is no file yet. */
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

/** On disk before anything that needs it. */
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

/** Says nothing of the secret itself. */
function markOf(secret: Secret): string {
  return createHmac("sha256", secret.reveal()).update("trivium secret mark").digest("base64url")
}

function secretPath(dataDir: string): string {
  return join(dataDir, "secret")
}
