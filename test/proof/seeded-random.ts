// Repeatable random numbers: the same seed and case give the same sequence.

export class SeededRandom {
  private state: number

  constructor({ seed, number }: { readonly seed: number; readonly number: number }) {
    this.state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b)) >>> 0
    // The first throws of neighbouring seeds are alike.
    for (let warming = 0; warming < 4; warming++) this.throw()
  }

  /** From 0 up to, and without, 1. Mulberry32. */
  throw(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 up to, and without, `count`. */
  below(count: number): number {
    return Math.floor(this.throw() * count)
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)]
    if (item === undefined) throw new Error("there is nothing to pick from")
    return item
  }

  chance(probability: number): boolean {
    return this.throw() < probability
  }
}
