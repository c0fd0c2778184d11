// API keys: made, listed, rotated, revoked, and recognised when a caller presents one.
import { createHmac, randomUUID } from "node:crypto"
import { GatewayError } from "../canonical/error.ts"
import type { Secret } from "../config/secret.ts"
import type { KeyRow, KeyTable } from "../store/contract.ts"
import { isKeyText, keyHint, mintKey } from "./key-text.ts"

/** A key as its owner may see it: everything but the key itself. */
export interface Key {
  readonly id: string
  readonly name: string
  readonly tenant: string
  readonly hint: string
  readonly models: readonly string[] | null
  readonly strict: boolean
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

export interface KeyWish {
  readonly name: string
  readonly tenant?: string
  readonly models?: readonly string[]
  /** Its requests are rather refused than changed in meaning on the way to a provider of another protocol. */
  readonly strict?: boolean
  readonly expiresAt?: number
}

/** A key together with its text, which is shown this once. */
export interface MintedKey {
  readonly key: Key
  readonly text: string
}

export interface KeysOptions {
  readonly table: KeyTable
  /** The first makes new hashes; any is taken. */
  readonly secrets: readonly Secret[]
  readonly now?: () => number
}

const DEFAULT_GRACE_MS = 24 * 60 * 60 * 1000
/** Recognised keys kept in memory, so that a request costs no hash and no query. */
const MAX_KNOWN = 10_000

export class Keys {
  private readonly known = new Map<string, KeyRow>()
  private readonly now: () => number

  constructor(private readonly options: KeysOptions) {
    this.now = options.now ?? Date.now
  }

  create({ name, tenant = "default", models, strict = false, expiresAt }: KeyWish): MintedKey {
    const text = mintKey()
    const row: KeyRow = {
      id: `key_${randomUUID().replaceAll("-", "").slice(0, 16)}`,
      name,
      tenant,
      hash: this.hash(text),
      hint: keyHint(text),
      models: models ?? null,
      createdAt: this.now(),
      expiresAt: expiresAt ?? null,
      revokedAt: null,
      previousHash: null,
      previousUntil: null,
      strict,
    }
    this.options.table.insert(row)
    return { key: visible(row), text }
  }

  /** The key of this id. */
  get(id: string): Key {
    return visible(this.row(id))
  }

  list(): Key[] {
    return this.options.table.list().map(visible)
  }

  isEmpty(): boolean {
    return this.options.table.count() === 0
  }

  /** A new text for the same key; the old one is taken for `graceMs` more. */
  rotate(id: string, { graceMs = DEFAULT_GRACE_MS }: { graceMs?: number } = {}): MintedKey {
    const row = this.row(id)
    if (row.revokedAt !== null) {
      throw new GatewayError("invalid_parameter", `Key ${id} is revoked; create a new one instead.`, { param: "id" })
    }
    const text = mintKey()
    const rotated: KeyRow = {
      ...row,
      hash: this.hash(text),
      hint: keyHint(text),
      previousHash: row.hash,
      previousUntil: this.now() + graceMs,
    }
    this.replace(rotated)
    return { key: visible(rotated), text }
  }

  /** From now on nobody is let in with it. Revoking twice is revoking once. */
  revoke(id: string): Key {
    const row = this.row(id)
    const revoked: KeyRow = { ...row, revokedAt: row.revokedAt ?? this.now() }
    this.replace(revoked)
    return visible(revoked)
  }

  /** The key a caller presents, or the GatewayError that says why it opens nothing. */
  authenticate(text: string): Key {
    const row = this.known.get(text) ?? this.recognise(text)
    if (row.revokedAt !== null) throw new GatewayError("revoked_api_key", "This API key has been revoked.")
    const now = this.now()
    if (row.expiresAt !== null && row.expiresAt <= now) {
      const when = new Date(row.expiresAt).toISOString()
      throw new GatewayError("expired_api_key", `This API key expired at ${when}.`)
    }
    return row
  }

  private recognise(text: string): KeyRow {
    if (!isKeyText(text)) throw invalidKey()
    for (const secret of this.options.secrets) {
      const hash = hmac(secret, text)
      const row = this.find(hash)
      if (!row) continue
      if (row.hash !== hash) return this.withinGrace(row)
      if (this.known.size >= MAX_KNOWN) this.known.clear()
      this.known.set(text, row)
      return row
    }
    throw invalidKey()
  }

  /** A text that was rotated away is looked up each time: it is rare, and its time runs out. */
  private withinGrace(row: KeyRow): KeyRow {
    if (row.previousUntil !== null && row.previousUntil > this.now()) return row
    throw new GatewayError("revoked_api_key", "This API key has been replaced by a new one.")
  }

  private find(hash: string): KeyRow | undefined {
    try {
      return this.options.table.findByHash(hash)
    } catch (cause) {
      const message = "The gateway cannot look up API keys just now. Try again."
      throw new GatewayError("store_unavailable", message, { cause })
    }
  }

  private row(id: string): KeyRow {
    const row = this.options.table.findById(id)
    if (!row) throw new GatewayError("resource_not_found", `There is no key ${id}. See: trivium keys list`)
    return row
  }

  private replace(row: KeyRow): void {
    this.options.table.replace(row)
    this.known.clear()
  }

  private hash(text: string): string {
    const [secret] = this.options.secrets
    if (!secret) throw new Error("no secret to hash keys with")
    return hmac(secret, text)
  }
}

function hmac(secret: Secret, text: string): string {
  return createHmac("sha256", secret.reveal()).update(text).digest("hex")
}

function invalidKey(): GatewayError {
  return new GatewayError("invalid_api_key", "This API key is not valid here. Check that it was copied whole.")
}

function visible({ id, name, tenant, hint, models, strict, createdAt, expiresAt, revokedAt }: KeyRow): Key {
  return { id, name, tenant, hint, models, strict, createdAt, expiresAt, revokedAt }
}
