// Seals for clients that drop what they do not know: kept by the id of the tool call they belong to, per tenant, and
// put back when the conversation returns. Bounded and expiring: what is gone costs the model a thought, not the call.
import type { Part, ReasoningPart } from "../canonical/part.ts"
import type { ChatRequest, Turn } from "../canonical/request.ts"
import type { Sealed } from "../canonical/sealed.ts"

/** What stood with a tool call. */
export interface Kept {
  readonly sealed?: Sealed
  /** The thoughts right before it. */
  readonly before: readonly ReasoningPart[]
}

interface Entry extends Kept {
  readonly size: number
  readonly until: number
}

interface TenantsOwn {
  size: number
  readonly entries: Map<string, Entry>
}

export interface KeptSealsOptions {
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

export class KeptSeals {
  private readonly options: Required<KeptSealsOptions>
  /** Those who kept something longest ago come first. */
  private readonly tenants = new Map<string, TenantsOwn>()
  private size = 0

  constructor(options: KeptSealsOptions = {}) {
    this.options = { ...DEFAULTS, ...options }
  }

  keep(tenant: string, callId: string, kept: Kept): void {
    const own = this.tenants.get(tenant) ?? { size: 0, entries: new Map<string, Entry>() }
    this.remove(own, callId)
    const size = sizeOf(callId, kept)
    own.entries.set(callId, { ...kept, size, until: this.options.now() + this.options.lifetimeMs })
    own.size += size
    this.size += size
    this.tenants.delete(tenant)
    this.tenants.set(tenant, own)
    this.makeRoom(own)
  }

  /** Whether there is anything to look for. */
  has(tenant: string): boolean {
    return this.tenants.has(tenant)
  }

  find(tenant: string, callIds: Iterable<string>): ReadonlyMap<string, Kept> {
    const found = new Map<string, Kept>()
    const own = this.tenants.get(tenant)
    const now = this.options.now()
    for (const callId of own ? callIds : []) {
      const entry = own?.entries.get(callId)
      if (entry && entry.until > now) found.set(callId, { before: entry.before, ...sealOf(entry) })
    }
    return found
  }

  private makeRoom(newest: TenantsOwn): void {
    const { maxSize, maxTenantSize, now } = this.options
    for (const [callId, { until }] of newest.entries) {
      if (until > now() && newest.size <= maxTenantSize) break
      this.remove(newest, callId)
    }
    for (const [tenant, own] of this.tenants) {
      for (const callId of own.entries.keys()) {
        if (this.size <= maxSize) return
        this.remove(own, callId)
      }
      if (own.entries.size === 0) this.tenants.delete(tenant)
    }
  }

  private remove(own: TenantsOwn, callId: string): void {
    const size = own.entries.get(callId)?.size ?? 0
    own.entries.delete(callId)
    own.size -= size
    this.size -= size
  }
}

/** About as many bytes as it takes. */
function sizeOf(callId: string, { sealed, before }: Kept): number {
  const seals = [sealed, ...before.map((part) => part.sealed)]
  const texts = before.reduce((sum, { text }) => sum + text.length, 0)
  return 2 * (callId.length + texts + seals.reduce((sum, seal) => sum + (seal?.data.length ?? 0), 0)) + 200
}

function sealOf({ sealed }: Kept): { sealed?: Sealed } {
  return sealed ? { sealed } : {}
}

/** The request with what was kept put back in its place. */
export function withKept(request: ChatRequest, kept: ReadonlyMap<string, Kept>): ChatRequest {
  if (kept.size === 0) return request
  return { ...request, turns: request.turns.map((turn) => (turn.role === "assistant" ? restored(turn, kept) : turn)) }
}

/** What a model thought before its first call it thought before all it said; the client may have told it back unsealed. */
function restored(turn: Turn, kept: ReadonlyMap<string, Kept>): Turn {
  const parts: Part[] = []
  let opening: readonly ReasoningPart[] | undefined
  for (const part of turn.parts) {
    const found = part.kind === "tool-call" && !part.sealed ? kept.get(part.id) : undefined
    if (part.kind !== "tool-call" || !found) parts.push(part)
    else {
      if (opening) parts.push(...found.before)
      parts.push({ ...part, ...sealOf(found) })
    }
    if (part.kind === "tool-call") opening ??= found?.before ?? []
  }
  if (!opening || opening.length === 0) return { ...turn, parts }
  return { ...turn, parts: [...opening, ...parts.filter((part) => part.kind !== "reasoning" || part.sealed)] }
}

/** The ids of calls that a chat request tells results of, read from its byte text. */
export function callIdsIn(text: string): Set<string> {
  const ids = new Set<string>()
  for (const [, id] of text.matchAll(/"tool_call_id"\s*:\s*"([^"\\]{1,512})"/g)) if (id !== undefined) ids.add(id)
  return ids
}
