// How many bytes of bodies may be held at once, for all requests together: a few large ones must not take all memory.
import { GatewayError } from "../canonical/error.ts"

export class BodyBudget {
  private taken = 0

  constructor(
    private readonly limit: number,
    private readonly told: { readonly onFull?: () => void } = {},
  ) {}

  /** The bytes of bodies held now. */
  get inUse(): number {
    return this.taken
  }

  take(bytes: number): void {
    if (this.taken + bytes > this.limit) {
      this.told.onFull?.()
      const message = "The gateway holds as many bytes of requests as it can. Try again."
      throw new GatewayError("overloaded", message, { retryAfterMs: 1000 })
    }
    this.taken += bytes
  }

  giveBack(bytes: number): void {
    this.taken -= bytes
  }
}

/** While a body is read it is there twice: as bytes, and as the text made of them. */
const WHILE_READ = 2

/** One request's share of the budget. */
export class BodyShare {
  private taken = 0

  constructor(private readonly budget: BodyBudget) {}

  /** The body has so many bytes by now, or will have. */
  growTo(bytes: number): void {
    const wanted = bytes * WHILE_READ
    if (wanted <= this.taken) return
    this.budget.take(wanted - this.taken)
    this.taken = wanted
  }

  /** It has been read: what is kept of it is its text. */
  shrink(): void {
    const kept = this.taken / WHILE_READ
    this.budget.giveBack(this.taken - kept)
    this.taken = kept
  }

  giveBack(): void {
    this.budget.giveBack(this.taken)
    this.taken = 0
  }
}
