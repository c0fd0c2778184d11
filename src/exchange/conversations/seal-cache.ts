// Cache of seals that a client does not return: because it drops unknown members, or because its protocol has no place
// for them. Keyed per tenant by tool call id or text, and restored when the conversation returns. Bounded and expiring:
// a missing entry costs the model its reasoning, not the call.
import type { ReasoningPart } from "../../canonical/chat/content-part.ts"
import type { SealedContent } from "../../canonical/chat/sealed-content.ts"

/** The seals of a tool call, or behind a text. */
export interface SealBundle {
  readonly sealed?: SealedContent
  /** The thoughts right before the call, or right behind the text. */
  readonly before: readonly ReasoningPart[]
}

/** What is kept for one tenant. Plain data: it crosses threads. */
export interface SealLookup {
  /** By the id of the call. */
  readonly calls: ReadonlyMap<string, SealBundle>
  /** By a key of the text. */
  readonly texts: ReadonlyMap<string, SealBundle>
}

interface CachedSeals extends SealBundle {
  readonly size: number
  readonly until: number
}

interface TenantSeals {
  size: number
  readonly calls: Map<string, CachedSeals>
  readonly texts: Map<string, CachedSeals>
}

export interface SealCacheOptions {
  readonly now?: () => number
  readonly maxSize?: number
  readonly maxTenantSize?: number
  readonly lifetimeMs?: number
}

const DEFAULTS = {
  now: () => performance.now(),
  maxSize: 64 * 1024 * 1024,
  maxTenantSize: 8 * 1024 * 1024,
  lifetimeMs: 60 * 60 * 1000,
}

const NOTHING_KEPT: SealLookup = { calls: new Map(), texts: new Map() }

export class SealCache {
  private readonly options: Required<SealCacheOptions>
  /** Those who kept something longest ago come first. */
  private readonly tenants = new Map<string, TenantSeals>()
  private size = 0

  constructor(options: SealCacheOptions = {}) {
    this.options = { ...DEFAULTS, ...options }
  }

  keep(tenant: string, callId: string, kept: SealBundle): void {
    const own = this.sealsOf(tenant)
    this.put(own, own.calls, { key: callId, kept })
    this.makeRoom(own)
  }

  /** Keeps seals by the keys of the text that they stand behind. */
  keepTrailing(tenant: string, keys: readonly string[], seals: readonly ReasoningPart[]): void {
    if (keys.length === 0) return
    const own = this.sealsOf(tenant)
    for (const key of keys) this.put(own, own.texts, { key, kept: { before: seals } })
    this.makeRoom(own)
  }

  /** What is kept for a tenant now; it shows what is kept later too. */
  lookup(tenant: string): SealLookup {
    const own = this.tenants.get(tenant)
    if (!own) return NOTHING_KEPT
    this.expire(own)
    if (own.size > 0) return own
    this.tenants.delete(tenant)
    return NOTHING_KEPT
  }

  private sealsOf(tenant: string): TenantSeals {
    const own = this.tenants.get(tenant) ?? { size: 0, calls: new Map(), texts: new Map() }
    this.tenants.delete(tenant)
    this.tenants.set(tenant, own)
    return own
  }

  private put(
    own: TenantSeals,
    entries: Map<string, CachedSeals>,
    { key, kept }: { key: string; kept: SealBundle },
  ): void {
    this.remove(own, entries, key)
    const size = sizeOf(key, kept)
    entries.set(key, { ...kept, size, until: this.options.now() + this.options.lifetimeMs })
    own.size += size
    this.size += size
  }

  private makeRoom(newest: TenantSeals): void {
    const { maxSize, maxTenantSize } = this.options
    this.expire(newest)
    while (newest.size > maxTenantSize) this.removeOldest(newest)
    for (const [tenant, own] of this.tenants) {
      while (this.size > maxSize && own.size > 0) this.removeOldest(own)
      if (own.size === 0) this.tenants.delete(tenant)
      if (this.size <= maxSize) return
    }
  }

  /** All live equally long, so that those kept longest ago expire first. */
  private expire(own: TenantSeals): void {
    const now = this.options.now()
    for (const entries of [own.calls, own.texts]) {
      for (const [key, { until }] of entries) {
        if (until > now) break
        this.remove(own, entries, key)
      }
    }
  }

  private removeOldest(own: TenantSeals): void {
    const [call] = own.calls
    const [text] = own.texts
    if (call && (!text || call[1].until <= text[1].until)) this.remove(own, own.calls, call[0])
    else if (text) this.remove(own, own.texts, text[0])
  }

  private remove(own: TenantSeals, entries: Map<string, CachedSeals>, key: string): void {
    const size = entries.get(key)?.size ?? 0
    entries.delete(key)
    own.size -= size
    this.size -= size
  }
}

/** About as many bytes as it takes. */
function sizeOf(key: string, { sealed, before }: SealBundle): number {
  const seals = [sealed, ...before.map((part) => part.sealed)]
  const texts = before.reduce((sum, { text }) => sum + text.length, 0)
  return 2 * (key.length + texts + seals.reduce((sum, seal) => sum + (seal?.data.length ?? 0), 0)) + 200
}

/** As much of it as a request may ask for, as plain data that another thread can be given. */
export function relevantSeals({ calls, texts }: SealLookup, requestText: string): SealLookup {
  const found = new Map<string, SealBundle>()
  for (const id of calls.size > 0 ? callIdsIn(requestText) : []) {
    const kept = calls.get(id)
    if (kept) found.set(id, kept)
  }
  return { calls: found, texts }
}

/** The ids of calls whose results a request holds, read from its byte text. */
function callIdsIn(text: string): Set<string> {
  const ids = new Set<string>()
  for (const [, id] of text.matchAll(RESULT_IDS)) if (id !== undefined) ids.add(id)
  return ids
}

const RESULT_IDS = /"(?:tool_call_id|tool_use_id|call_id)"\s*:\s*"([^"\\]{1,512})"/g
