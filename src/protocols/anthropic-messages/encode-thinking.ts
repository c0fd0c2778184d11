// How hard to think, for the vendor: `thinking` says whether, `output_config.effort` how hard, a budget how long.
import type { JsonObject } from "../../canonical/json.ts"
import { nearestEffort } from "../../canonical/reasoning.ts"
import type { ReasoningWish } from "../../canonical/request.ts"
import { approximated, dropped } from "./own.ts"
import type { Writing } from "./writing.ts"

export interface Thinking {
  readonly thinking?: JsonObject
  readonly effort?: string
}

const EFFORTS = ["low", "medium", "high", "xhigh", "max"] as const
const LEAST_BUDGET = 1024
const DISPLAYS = { full: undefined, summary: "summarized", hidden: "omitted" } as const

interface Circumstances {
  readonly maxTokens: number
  /** Whether a tool must be called, which a budget does not go with. */
  readonly forced: boolean
  readonly writing: Writing
}

/** As the caller wrote it, where this is its protocol. */
export function ownThinking({ effort, budgetTokens, show }: ReasoningWish): Thinking {
  if (effort === "none") return { thinking: { type: "disabled" } }
  const display = show === undefined ? undefined : DISPLAYS[show]
  const shown = display !== undefined && { display }
  const said = effort !== undefined && { effort }
  if (budgetTokens !== undefined) {
    return { thinking: { type: "enabled", budget_tokens: budgetTokens, ...shown }, ...said }
  }
  return show === undefined ? { ...said } : { thinking: { type: "adaptive", ...shown }, ...said }
}

export function encodeThinking(wish: ReasoningWish, around: Circumstances): Thinking {
  const { writing } = around
  const { effort, budgetTokens, show } = wish
  const off = effort === "none" || budgetTokens === 0
  if (!writing.reasons) {
    if (!off) writing.losses.push(dropped.hint("reasoning", "the model does not reason"))
    return {}
  }
  if (off) return { thinking: { type: "disabled" } }
  if (show === "full") writing.losses.push(approximated.hint("reasoning.show", "reasoning is shown in summary"))
  const display = show === undefined ? undefined : (DISPLAYS[show] ?? "summarized")
  const shown = display !== undefined && { display }
  const word = effort === undefined ? undefined : nearestEffort(effort, EFFORTS)
  if (word !== effort) writing.losses.push(approximated.hint("reasoning.effort", `the least effort is \`${word}\``))
  const budget = budgetTokens !== undefined && budgetTokens > 0 ? fitting(budgetTokens, around) : undefined
  const thinking =
    budget === undefined ? { type: "adaptive", ...shown } : { type: "enabled", budget_tokens: budget, ...shown }
  return { thinking, ...(word !== undefined && { effort: word }) }
}

/** A budget within the vendor's bounds; undefined where there is none, and the model thinks as it sees fit. */
function fitting(asked: number, { maxTokens, forced, writing: { losses } }: Circumstances): number | undefined {
  if (forced || maxTokens <= LEAST_BUDGET) {
    const why = forced ? "a budget does not go with a tool that must be called" : "the answer's limit leaves no room"
    losses.push(approximated.hint("reasoning.budgetTokens", why))
    return undefined
  }
  const budget = Math.min(Math.max(Math.floor(asked), LEAST_BUDGET), maxTokens - 1)
  if (budget !== asked) {
    const why = `a budget is at least ${LEAST_BUDGET} tokens and below the answer's limit`
    losses.push(approximated.hint("reasoning.budgetTokens", why))
  }
  return budget
}
