// Targets that exceeded the output limit they were given. From then on, until the process ends, every call to them holds
// the model's maximum output.
import type { Target } from "../../routing/route-plan.ts"

/** A host may count a few tokens of its own, such as the end of a turn. */
const TOLERATED = 1.05
const TOLERATED_TOKENS = 32

export class LimitOverruns {
  private readonly seen = new Set<string>()

  has(target: Target): boolean {
    return this.seen.size > 0 && this.seen.has(keyOf(target))
  }

  /** Compares what a target put out, in all candidates, with the limit of them all. */
  note(target: Target, { output, limit }: { readonly output: number; readonly limit: number }): void {
    if (output > limit * TOLERATED + TOLERATED_TOKENS) this.seen.add(keyOf(target))
  }
}

function keyOf({ account, upstreamModel }: Target): string {
  return `${account.id}\n${upstreamModel}`
}
