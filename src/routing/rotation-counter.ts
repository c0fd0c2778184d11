// Counts the requests of each model, so that each has its own turns and shares by weight come out even. Bounded.

/** More than any catalogue has. */
const MAX_MODELS = 10_000

export class RotationCounter {
  private readonly counts = new Map<string, number>()

  /** Whose turn it is, without counting. */
  peek(model: string): number {
    return this.counts.get(model) ?? 0
  }

  next(model: string): number {
    const turn = this.peek(model)
    if (turn === 0 && this.counts.size >= MAX_MODELS) this.counts.clear()
    this.counts.set(model, turn + 1)
    return turn
  }
}
