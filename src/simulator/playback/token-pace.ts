// Timing of tokens: the time to the first, the rate of the rest, and a jitter derived from the seed.
import { randomNumbers } from "../digest.ts"
import type { SimulatedSpeed } from "../directives.ts"

export class TokenPace {
  readonly #speed: SimulatedSpeed
  readonly #random: () => number
  #begun = false

  constructor(speed: SimulatedSpeed, seed: string) {
    this.#speed = speed
    this.#random = randomNumbers(seed)
  }

  /** The time these tokens take; an event without tokens takes none. */
  waitMs(tokens: number): number {
    if (tokens === 0) return 0
    const wait = this.#begun
      ? this.#generationMs(tokens)
      : (this.#speed.firstTokenMs ?? 0) + this.#generationMs(tokens - 1)
    this.#begun = true
    return wait === 0 ? 0 : wait * this.#jitter()
  }

  /** The time a whole answer takes, even one without tokens. */
  wholeMs(tokens: number): number {
    return this.waitMs(Math.max(1, tokens))
  }

  #generationMs(tokens: number): number {
    const { tokensPerSecond } = this.#speed
    return tokensPerSecond === undefined ? 0 : (tokens * 1000) / tokensPerSecond
  }

  #jitter(): number {
    const { jitterPercent = 0 } = this.#speed
    return jitterPercent === 0 ? 1 : 1 + (jitterPercent / 100) * (this.#random() / 2 ** 31 - 1)
  }
}
