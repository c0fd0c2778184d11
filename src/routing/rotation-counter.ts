// Counts the requests of each model, so that each model rotates separately and shares by weight come out even. Bounded.

/** More models than any catalogue has. */
const MAX_MODELS = 10_000

export class RotationCounter {
  private readonly counts = new Map<string, number>()

  /** The next rotation, without counting. */
  peek(model: string): number {
    return this.counts.get(model) ?? 0
  }

  next(model: string): number {
    const rotation = this.peek(model)
    if (rotation === 0 && this.counts.size >= MAX_MODELS) this.counts.clear()
    this.counts.set(model, rotation + 1)
    return rotation
  }
}
