// How many bytes of bodies may be held at once, for all requests together: a few large ones must not take all memory.
import { GatewayError } from "../canonical/error.ts"

export class BodyBudget {
  private taken = 0

  constructor(private readonly limit: number) {}

  /** The bytes of bodies held now. */
  get inUse(): number {
    return this.taken
  }

  take(bytes: number): void {
    if (this.taken + bytes > this.limit) {
      const message = "The gateway holds as many bytes of requests as it can. Try again."
      throw new GatewayError("overloaded", message, { retryAfterMs: 1000 })
    }
    this.taken += bytes
  }

  giveBack(bytes: number): void {
    this.taken -= bytes
  }
}

/** One request's share of the budget. */
export class BodyShare {
  private taken = 0

  constructor(private readonly budget: BodyBudget) {}

  /** So many bytes in all. */
  growTo(bytes: number): void {
    if (bytes <= this.taken) return
    this.budget.take(bytes - this.taken)
    this.taken = bytes
  }

  giveBack(): void {
    this.budget.giveBack(this.taken)
    this.taken = 0
  }
}
