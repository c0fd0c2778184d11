// Reasoning effort as vendors express it: a word, or a number of tokens. One table for all protocols.
import type { ReasoningSettings } from "./chat-request.ts"

export type ReasoningEffort = NonNullable<ReasoningSettings["effort"]>

/** From lowest to highest, each with its budget in tokens. */
export const EFFORT_BUDGETS: readonly (readonly [effort: ReasoningEffort, budgetTokens: number])[] = [
  ["none", 0],
  ["minimal", 1024],
  ["low", 2048],
  ["medium", 8192],
  ["high", 24_576],
  ["xhigh", 32_768],
  ["max", 65_536],
]

/** From the least to the most. */
export const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const satisfies ReasoningEffort[]

export function budgetOf(effort: ReasoningEffort): number {
  return EFFORT_BUDGETS.find(([word]) => word === effort)?.[1] ?? 0
}

/** The effort with the nearest token budget; of two equally near, the lower. */
export function effortOf(budgetTokens: number): ReasoningEffort {
  let nearest = EFFORT_BUDGETS[0] as (typeof EFFORT_BUDGETS)[number]
  for (const entry of EFFORT_BUDGETS) {
    if (Math.abs(entry[1] - budgetTokens) < Math.abs(nearest[1] - budgetTokens)) nearest = entry
  }
  return nearest[0]
}

/** The nearest of the efforts that a protocol has. */
export function nearestEffort<Word extends ReasoningEffort>(effort: ReasoningEffort, known: readonly Word[]): Word {
  const place = (word: ReasoningEffort) => EFFORT_BUDGETS.findIndex(([each]) => each === word)
  const [first, ...others] = known
  if (first === undefined) throw new Error("a protocol that takes an effort has words for it")
  const distance = (word: Word) => Math.abs(place(word) - place(effort))
  return others.reduce((nearest, word) => (distance(word) < distance(nearest) ? word : nearest), first)
}
