// The memory budget for request bodies. Each key has a fair share: when the budget is full, a key within its share
// evicts bodies that another key is still sending beyond its own share.
import { GatewayError } from "../canonical/gateway-error.ts"

const FULL = "The gateway's memory for request bodies is full. Try again."
const BEYOND_SHARE =
  "The gateway's memory for request bodies is full, and this API key uses more than its share of it. Send fewer large requests at once, or try again."

/** The bodies of one key. */
interface KeyBodies {
  held: number
  /** The bytes held plus the bytes announced. */
  expected: number
  readonly shares: Set<BodyShare>
}

interface BodyBudgetEvents {
  /** A request is refused, or given up while its body arrives. */
  readonly onFull?: () => void
}

export class BodyBudget {
  private taken = 0
  private readonly keys = new Map<string, KeyBodies>()

  constructor(
    private readonly limit: number,
    private readonly events: BodyBudgetEvents = {},
  ) {}

  /** The bytes of bodies held now. */
  get inUse(): number {
    return this.taken
  }

  /** The part of the budget that one request of a key takes. */
  open(key: string): BodyShare {
    const bodies = this.keys.get(key) ?? { held: 0, expected: 0, shares: new Set() }
    this.keys.set(key, bodies)
    return new BodyShare({ budget: this, key, bodies })
  }

  /** A key's announcements count against the key alone: they keep nothing from others. */
  expect(bodies: KeyBodies, bytes: number): void {
    if (bodies.expected + bytes > this.limit) throw this.refusal(BEYOND_SHARE)
    bodies.expected += bytes
  }

  take(bodies: KeyBodies, bytes: number): void {
    if (this.taken + bytes > this.limit) this.makeRoom(bodies, bytes)
    this.taken += bytes
    bodies.held += bytes
  }

  giveBack(bodies: KeyBodies, bytes: number): void {
    this.taken -= bytes
    bodies.held -= bytes
  }

  close(key: string, bodies: KeyBodies): void {
    if (bodies.shares.size === 0) this.keys.delete(key)
  }

  refusal(message: string): GatewayError {
    this.events.onFull?.()
    return new GatewayError("overloaded", message, { retryAfterMs: 1000 })
  }

  private makeRoom(bodies: KeyBodies, bytes: number): void {
    const others = [...this.keys.values()].filter((each) => each.held > 0 && each !== bodies)
    const fairShare = this.limit / (others.length + 1)
    if (bodies.held + bytes > fairShare) throw this.refusal(others.length > 0 ? BEYOND_SHARE : FULL)
    while (this.taken + bytes > this.limit) {
      const evicted = this.largestBeyond(fairShare)
      if (!evicted) throw this.refusal(FULL)
      evicted.evict(this.refusal(BEYOND_SHARE))
    }
  }

  /** The largest body still arriving, of the key that holds most beyond its share: so the fewest are given up. */
  private largestBeyond(fairShare: number): BodyShare | undefined {
    const beyond = [...this.keys.values()].filter(({ held }) => held > fairShare)
    for (const { shares } of beyond.sort((one, other) => other.held - one.held)) {
      const arriving = [...shares].filter(({ isArriving }) => isArriving)
      if (arriving.length > 0) return arriving.reduce((most, each) => (each.bytes > most.bytes ? each : most))
    }
    return undefined
  }
}

/** While a body is read it is there twice: as bytes, and as the text made of them. */
const WHILE_READ = 2

interface BodyShareOptions {
  readonly budget: BodyBudget
  readonly key: string
  readonly bodies: KeyBodies
}

/** One request's part of the budget. */
export class BodyShare {
  /** What it holds. */
  bytes = 0
  private expected = 0
  private onEvict: (() => void) | undefined
  private evictedBy: GatewayError | undefined

  constructor(private readonly options: BodyShareOptions) {
    options.bodies.shares.add(this)
  }

  get isArriving(): boolean {
    return this.onEvict !== undefined
  }

  /** Announces the body's size before any of it arrives. */
  expect(bytes: number): void {
    this.options.budget.expect(this.options.bodies, bytes * WHILE_READ)
    this.expected = bytes * WHILE_READ
  }

  /** From now until `arrived`, the body may be given up for others; `onEvict` is then called once. */
  arriving(onEvict: () => void): void {
    this.onEvict = onEvict
  }

  /** The whole body is there, or nothing more of it is wanted. Throws where it was given up. */
  arrived(): void {
    this.onEvict = undefined
    if (this.evictedBy) throw this.evictedBy
  }

  /** The body has so many bytes by now. */
  growTo(bytes: number): void {
    if (this.evictedBy) throw this.evictedBy
    const { budget, bodies } = this.options
    const wanted = bytes * WHILE_READ
    if (wanted <= this.bytes) return
    budget.take(bodies, wanted - this.bytes)
    this.bytes = wanted
    this.setExpected(Math.max(this.expected, wanted))
  }

  evict(cause: GatewayError): void {
    this.evictedBy = cause
    this.keep(0)
    this.onEvict?.()
    this.onEvict = undefined
  }

  /** It has been read: what is kept of it is its text. */
  shrink(): void {
    this.keep(this.bytes / WHILE_READ)
  }

  giveBack(): void {
    this.keep(0)
    const { budget, key, bodies } = this.options
    if (bodies.shares.delete(this)) budget.close(key, bodies)
  }

  private keep(bytes: number): void {
    this.options.budget.giveBack(this.options.bodies, this.bytes - bytes)
    this.bytes = bytes
    this.setExpected(bytes)
  }

  private setExpected(bytes: number): void {
    this.options.bodies.expected += bytes - this.expected
    this.expected = bytes
  }
}
