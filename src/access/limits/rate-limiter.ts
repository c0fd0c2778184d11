// Rate and concurrency limits of keys and tenants: counted in memory, by one process, only while they matter.
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { Caller } from "../caller.ts"
import { RateBucket } from "./rate-bucket.ts"

const DEFAULT_REQUESTS_PER_MINUTE = 600
/** A Map with as many insertions as deletions costs the garbage collector much. */
const MAX_IDLE_METERS = 16_384

export interface RateLimiterOptions {
  /** The default limit of keys; null is no limit. */
  readonly requestsPerMinute?: () => number | null
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
  /** Maximum number of idle meters kept for keys, and for tenants. */
  readonly maxIdleMeters?: number
}

/** The key and tenant that are limited. */
export type LimitedCaller = Pick<
  Caller,
  "id" | "tenant" | "requestsPerMinute" | "tokensPerMinute" | "concurrentRequests" | "tenantGrant"
>

/** The status of a limit: the remainder, and the time until it is full again. */
export interface LimitStatus {
  readonly limit: number
  readonly remaining: number
  readonly resetMs: number
}

export class RateLimiter {
  private readonly keys: LimitMeterMap
  private readonly tenants: LimitMeterMap
  private readonly now: () => number
  private readonly requestsPerMinute: () => number | null

  constructor({
    requestsPerMinute,
    now = () => performance.now(),
    maxIdleMeters = MAX_IDLE_METERS,
  }: RateLimiterOptions = {}) {
    this.keys = new LimitMeterMap("This API key", maxIdleMeters)
    this.tenants = new LimitMeterMap("The tenant of this API key", maxIdleMeters)
    this.now = () => Math.floor(now())
    this.requestsPerMinute = requestsPerMinute ?? (() => DEFAULT_REQUESTS_PER_MINUTE)
  }

  /** The counters for one call of this caller. Use them at once: an unused counter may be evicted. */
  allowanceOf(caller: LimitedCaller): Allowance {
    const { tenantGrant } = caller
    const requestsPerMinute = caller.requestsPerMinute ?? this.requestsPerMinute()
    const { tokensPerMinute, concurrentRequests } = caller
    if ((requestsPerMinute ?? tokensPerMinute ?? concurrentRequests ?? tenantGrant ?? null) === null) return UNLIMITED
    const now = this.now()
    const key = this.keys.get(caller.id, now)
    key.set(requestsPerMinute, tokensPerMinute, now)
    const tenant = this.tenants.get(caller.tenant, now)
    tenant.set(tenantGrant?.requestsPerMinute ?? null, tenantGrant?.tokensPerMinute ?? null, now)
    return new Allowance({ now: this.now, at: now, key, tenant, caller })
  }

  /** The number of meters in memory. */
  get size(): number {
    return this.keys.size + this.tenants.size
  }
}

interface AllowanceParts {
  readonly now: () => number
  /** Time of the reservation. */
  readonly at: number
  readonly key: LimitMeter
  readonly tenant: LimitMeter
  readonly caller: LimitedCaller
}

export class Allowance {
  /** False if neither key nor tenant has a limit. */
  readonly isLimited: boolean = true
  private isRunning = false
  private readonly now: () => number
  private readonly at: number
  private readonly key: LimitMeter
  private readonly tenant: LimitMeter
  private readonly caller: LimitedCaller

  constructor({ now, at, key, tenant, caller }: AllowanceParts) {
    this.now = now
    this.at = at
    this.key = key
    this.tenant = tenant
    this.caller = caller
  }

  /** Counts a request, or rejects it and counts nothing. */
  take(): void {
    this.draw("requests", { amount: 1, now: this.at })
  }

  /** Reserves the expected tokens of a call; throws without counting if they exceed the limit. */
  reserve(tokens: number): void {
    if (this.key.tokens || this.tenant.tokens) this.draw("tokens", { amount: tokens, now: this.now() })
  }

  /** Replaces the reserved tokens by the tokens used. */
  correct(reserved: number, used: number): void {
    const { key, tenant } = this
    if (!key.tokens && !tenant.tokens) return
    const now = this.now()
    key.tokens?.draw(used - reserved, now)
    tenant.tokens?.draw(used - reserved, now)
  }

  /** Counts a running call until `leave`; throws if the limit is reached. */
  enter(): void {
    const { key, tenant, caller } = this
    checkConcurrency(key, caller.concurrentRequests)
    checkConcurrency(tenant, caller.tenantGrant?.concurrentRequests ?? null)
    this.isRunning = true
    key.running++
    tenant.running++
  }

  /** Ends one call; repeated calls have no effect. */
  leave(): void {
    if (!this.isRunning) return
    this.isRunning = false
    this.key.running--
    this.tenant.running--
  }

  /** The status of the limit closer to exhaustion, the key's or the tenant's; undefined without either. */
  status(): { readonly requests: LimitStatus | undefined; readonly tokens: LimitStatus | undefined } {
    const { key, tenant } = this
    const now = this.now()
    return {
      requests: limitStatusOf(key.requests, tenant.requests, now),
      tokens: limitStatusOf(key.tokens, tenant.tokens, now),
    }
  }

  /** The running calls and their limit; undefined if neither key nor tenant has one. */
  concurrent(): { readonly limit: number; readonly running: number } | undefined {
    const { key, tenant, caller } = this
    const bounds = [
      { limit: caller.concurrentRequests, running: key.running },
      { limit: caller.tenantGrant?.concurrentRequests ?? null, running: tenant.running },
    ].flatMap(({ limit, running }) => (limit === null ? [] : [{ limit, running }]))
    return bounds.sort((one, other) => one.limit - one.running - (other.limit - other.running))[0]
  }

  private draw(what: LimitUnit, { amount, now }: { readonly amount: number; readonly now: number }): void {
    const { key, tenant } = this
    const [own, shared] = [key[what], tenant[what]]
    const ownWait = own?.waitMs(amount, now) ?? 0
    const sharedWait = shared?.waitMs(amount, now) ?? 0
    if (ownWait > 0 || sharedWait > 0) {
      throw rateLimitError(what, sharedWait > ownWait ? tenant : key, Math.max(ownWait, sharedWait))
    }
    own?.draw(amount, now)
    shared?.draw(amount, now)
  }
}

/** The allowance of callers without limits: counts nothing. */
class UnlimitedAllowance extends Allowance {
  override readonly isLimited = false
  override take(): void {}
  override reserve(): void {}
  override correct(): void {}
  override enter(): void {}
  override leave(): void {}
}

type LimitUnit = "requests" | "tokens"

/** The counters of one key or tenant. */
class LimitMeter {
  requests: RateBucket | undefined
  tokens: RateBucket | undefined
  running = 0

  /** `whose` is the subject of a refusal's message. */
  constructor(
    readonly whose: string,
    readonly name: string,
  ) {}

  set(requestsPerMinute: number | null, tokensPerMinute: number | null, now: number): void {
    this.requests = adjustBucket(this.requests, requestsPerMinute, now)
    this.tokens = adjustBucket(this.tokens, tokensPerMinute, now)
  }

  /** True if a new meter would be equal. */
  isIdle(now: number): boolean {
    return this.running === 0 && (this.requests?.resetMs(now) ?? 0) === 0 && (this.tokens?.resetMs(now) ?? 0) === 0
  }
}

const UNLIMITED = new UnlimitedAllowance({
  now: () => 0,
  at: 0,
  key: new LimitMeter("", ""),
  tenant: new LimitMeter("", ""),
  caller: {
    id: "",
    tenant: "",
    requestsPerMinute: null,
    tokensPerMinute: null,
    concurrentRequests: null,
    tenantGrant: null,
  },
})

/** Beyond the maximum of idle meters, every nth lookup also checks others, and continues while they are idle. */
const SWEEP_EVERY_LOOKUPS = 16
const SWEEP_SIZE = 32
const MAX_SWEEP_SIZE = 256

class LimitMeterMap {
  private readonly meters = new Map<string, LimitMeter>()
  private round = this.meters.values()
  private lookups = 0

  constructor(
    private readonly whose: string,
    private readonly maxIdle: number,
  ) {}

  get size(): number {
    return this.meters.size
  }

  get(name: string, now: number): LimitMeter {
    let meter = this.meters.get(name)
    if (!meter) {
      meter = new LimitMeter(this.whose, name)
      this.meters.set(name, meter)
    }
    if (this.meters.size > this.maxIdle && ++this.lookups % SWEEP_EVERY_LOOKUPS === 0) this.forgetIdle(meter, now)
    return meter
  }

  private forgetIdle(current: LimitMeter, now: number): void {
    for (let looks = 0, idle = 0; looks < SWEEP_SIZE + idle && looks < MAX_SWEEP_SIZE; looks++) {
      const { value: meter } = this.round.next()
      if (!meter) {
        this.round = this.meters.values()
        return
      }
      if (meter === current || !meter.isIdle(now)) continue
      this.meters.delete(meter.name)
      idle++
    }
  }
}

function adjustBucket(bucket: RateBucket | undefined, limit: number | null, now: number): RateBucket | undefined {
  if (limit === null) return undefined
  if (!bucket) return new RateBucket(limit, now)
  if (bucket.limit !== limit) bucket.setLimit(limit, now)
  return bucket
}

function limitStatusOf(
  own: RateBucket | undefined,
  shared: RateBucket | undefined,
  now: number,
): LimitStatus | undefined {
  const tighter = own && shared ? tighterBucket(own, shared, now) : (own ?? shared)
  return tighter && { limit: tighter.limit, remaining: tighter.remaining(now), resetMs: tighter.resetMs(now) }
}

/** The bucket with the smaller remainder; among equals the one that takes longer to fill. */
function tighterBucket(own: RateBucket, shared: RateBucket, now: number): RateBucket {
  const difference = own.remaining(now) - shared.remaining(now)
  if (difference !== 0) return difference < 0 ? own : shared
  return own.resetMs(now) < shared.resetMs(now) ? shared : own
}

function checkConcurrency({ running, whose }: LimitMeter, limit: number | null): void {
  if (limit === null || running < limit) return
  const message = `${whose} may run ${limit} requests at once, and that many are running. Wait for one to finish.`
  throw new GatewayError("concurrency_limit_exceeded", message, { retryAfterMs: 1000 })
}

function rateLimitError(what: LimitUnit, meter: LimitMeter, waitMs: number): GatewayError {
  const limit = meter[what]?.limit
  const message = `${meter.whose} may use ${limit} ${what} per minute. Try again in ${Math.ceil(waitMs / 100) / 10} s.`
  return new GatewayError("rate_limit_exceeded", message, { retryAfterMs: waitMs })
}
