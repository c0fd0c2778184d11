// Authenticates API keys. The store holds only keyed hashes; recently authenticated keys are cached.
import { createHmac, createSecretKey, type KeyObject } from "node:crypto"
import { GatewayError } from "../canonical/gateway-error.ts"
import type { Secret } from "../config/secret.ts"
import type { Grant, KeyRow, KeyTable } from "../store/contract.ts"
import { AccessChanges } from "./access-changes.ts"
import { type Caller, callerOf } from "./caller.ts"
import { isKeyText } from "./key-text.ts"
import { LruCache } from "./lru-cache.ts"

interface KeyAuthenticatorOptions {
  readonly table: KeyTable
  /** The first makes new hashes; all of them are accepted. */
  readonly secrets: readonly Secret[]
  readonly tenantOf: (name: string) => Grant | undefined
  readonly now: () => number
}

/** Cached callers cost neither a hash nor a query. */
const MAX_CACHED_CALLERS = 100_000

interface CachedCaller {
  readonly caller: Caller
  readonly readAt: number
}

export class KeyAuthenticator {
  readonly changes = new AccessChanges(() => this.cache.clear())
  private readonly cache = new LruCache<CachedCaller>(MAX_CACHED_CALLERS)
  private readonly secrets: readonly KeyObject[]

  constructor(private readonly options: KeyAuthenticatorOptions) {
    this.secrets = options.secrets.map((secret) => createSecretKey(secret.reveal(), "utf8"))
  }

  /** The keyed hash that the store holds instead of the key's text. */
  hash(text: string): string {
    const [secret] = this.secrets
    if (!secret) throw new Error("no secret to hash keys with")
    return hmac(secret, text)
  }

  /** The caller that holds this key; throws a GatewayError with the reason if the key is not valid. */
  authenticate(text: string): Caller {
    const caller = this.findCached(text) ?? this.lookUpCaller(text)
    if (caller.revokedAt !== null) throw new GatewayError("revoked_api_key", "This API key has been revoked.")
    if (caller.expiresAt !== null && caller.expiresAt <= this.options.now()) {
      const when = new Date(caller.expiresAt).toISOString()
      throw new GatewayError("expired_api_key", `This API key expired at ${when}.`)
    }
    return caller
  }

  private findCached(text: string): Caller | undefined {
    const known = this.cache.get(text)
    return known && !this.changes.hasChangedSince(known.readAt, known.caller) ? known.caller : undefined
  }

  private lookUpCaller(text: string): Caller {
    if (!isKeyText(text)) throw invalidKeyError()
    for (const secret of this.secrets) {
      const hash = hmac(secret, text)
      const row = this.options.table.findByHash(hash)
      if (!row) continue
      const caller = callerOf(row, this.options.tenantOf(row.tenant))
      if (row.hash === hash) this.cache.set(text, { caller, readAt: this.changes.now })
      // A rotated key is not cached: it is rare, and it expires.
      else this.checkGrace(row)
      return caller
    }
    throw invalidKeyError()
  }

  private checkGrace({ previousUntil }: KeyRow): void {
    if (previousUntil !== null && previousUntil > this.options.now()) return
    throw new GatewayError("revoked_api_key", "This API key was rotated and its grace period is over. Use the new key.")
  }
}

function hmac(secret: KeyObject, text: string): string {
  return createHmac("sha256", secret).update(text).digest("hex")
}

function invalidKeyError(): GatewayError {
  return new GatewayError(
    "invalid_api_key",
    "This API key is not valid for this gateway. Check that it was copied completely.",
  )
}
