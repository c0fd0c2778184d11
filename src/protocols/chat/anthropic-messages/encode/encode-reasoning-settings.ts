// Encodes reasoning settings: `thinking` enables it, `output_config.effort` sets the effort, a budget its length.

import type { ConversationTurn, ReasoningSettings } from "../../../../canonical/chat/chat-request.ts"
import { partsBeforeToolResults } from "../../../../canonical/chat/parts-before-tool-results.ts"
import { budgetOf, effortOf, nearestEffort } from "../../../../canonical/chat/reasoning-effort.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { approximated, dropped } from "../../../losses.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import type { AnthropicEncodeContext } from "./encode-context.ts"

export interface AnthropicThinking {
  readonly thinking?: JsonObject
  readonly effort?: string
}

const EFFORTS = ["low", "medium", "high", "xhigh", "max"] as const
const LEAST_BUDGET = 1024
const DISPLAYS = { full: undefined, summary: "summarized", hidden: "omitted" } as const

interface ThinkingContext {
  readonly maxTokens: number
  /** True if a tool must be called, which excludes a budget. */
  readonly forced: boolean
  readonly turns: readonly ConversationTurn[]
  readonly encodeContext: AnthropicEncodeContext
}

/** As the caller wrote it in this protocol. */
export function ownThinking({ effort, budgetTokens, show }: ReasoningSettings): AnthropicThinking {
  if (effort === "none") return { thinking: { type: "disabled" } }
  const display = show === undefined ? undefined : DISPLAYS[show]
  const shown = display !== undefined && { display }
  const effortMember = effort !== undefined && { effort }
  if (budgetTokens !== undefined) {
    return { thinking: { type: "enabled", budget_tokens: budgetTokens, ...shown }, ...effortMember }
  }
  return show === undefined ? { ...effortMember } : { thinking: { type: "adaptive", ...shown }, ...effortMember }
}

export function encodeThinking(reasoning: ReasoningSettings, around: ThinkingContext): AnthropicThinking {
  const { losses, reasons, thinkingTokens } = around.encodeContext
  const off = reasoning.effort === "none" || reasoning.budgetTokens === 0
  if (!reasons) {
    if (!off) losses.push(dropped.hint("reasoning", "the model does not reason"))
    return {}
  }
  if (off) return { thinking: { type: "disabled" } }
  return thinkingTokens ? byBudget(reasoning, around) : byEffort(reasoning, around)
}

/** Older models take a budget; some of them also an effort. */
function byBudget(reasoning: ReasoningSettings, around: ThinkingContext): AnthropicThinking {
  const { losses, efforts } = around.encodeContext
  if (isUnsigned(around)) {
    losses.push(dropped.hint("reasoning", "the reasoning before the tool calls is missing"))
    return {}
  }
  const { effort, budgetTokens, show } = reasoning
  const requested = budgetTokens ?? budgetOf(effort ?? "medium")
  if (budgetTokens === undefined && effort !== undefined && !efforts) {
    losses.push(
      approximated.hint("reasoning.effort", `the model accepts a token budget; ${effort} becomes ${requested}`),
    )
  }
  if (show === "hidden") losses.push(dropped.hint("reasoning.show", "the model always shows its reasoning"))
  const budget = fitThinkingBudget(requested, around)
  const word = efforts && wordFor(effort, around)
  return {
    ...(budget !== undefined && { thinking: { type: "enabled", budget_tokens: budget } }),
    ...(word !== undefined && { effort: word }),
  }
}

/** An older model continues after tool results only with its own reasoning before the calls. */
function isUnsigned({ turns, encodeContext: { minter } }: ThinkingContext): boolean {
  const parts = partsBeforeToolResults(turns)
  const isSigned = parts.some((part) => {
    if (part.kind !== "reasoning" || !part.sealed) return false
    return part.sealed.mintedBy === minter || part.sealed.mintedBy === PROTOCOL
  })
  return !isSigned && parts.some(({ kind }) => kind === "tool-call")
}

/** Newer models take an effort and choose the length themselves. */
function byEffort(reasoning: ReasoningSettings, around: ThinkingContext): AnthropicThinking {
  const { losses, efforts } = around.encodeContext
  const { budgetTokens, show } = reasoning
  if (show === "full") losses.push(approximated.hint("reasoning.show", "reasoning is shown as a summary"))
  const display = show === undefined ? undefined : (DISPLAYS[show] ?? "summarized")
  const shown = display !== undefined && { display }
  const counted = budgetTokens !== undefined && budgetTokens > 0 ? budgetTokens : undefined
  const budget = counted !== undefined && !efforts ? fitThinkingBudget(counted, around) : undefined
  if (counted !== undefined && efforts) {
    losses.push(approximated.hint("reasoning.budgetTokens", "the model accepts an effort level, not a token budget"))
  }
  const word = wordFor(reasoning.effort ?? (efforts && counted !== undefined ? effortOf(counted) : undefined), around)
  const thinking =
    budget === undefined ? { type: "adaptive", ...shown } : { type: "enabled", budget_tokens: budget, ...shown }
  return { thinking, ...(word !== undefined && { effort: word }) }
}

function wordFor(effort: ReasoningSettings["effort"], { encodeContext }: ThinkingContext): string | undefined {
  if (effort === undefined) return undefined
  const word = nearestEffort(effort, encodeContext.efforts ?? EFFORTS)
  if (word !== effort)
    encodeContext.losses.push(approximated.hint("reasoning.effort", `the nearest supported value is \`${word}\``))
  return word
}

/** A budget within the vendor's bounds; undefined if none fits, and the model decides. */
function fitThinkingBudget(
  requested: number,
  { maxTokens, forced, encodeContext }: ThinkingContext,
): number | undefined {
  const { losses, thinkingTokens } = encodeContext
  const { min: least = LEAST_BUDGET, max: most = maxTokens - 1 } = thinkingTokens ?? {}
  if (forced || maxTokens <= least) {
    const why = forced
      ? "a reasoning budget cannot be combined with a required tool"
      : "the output limit is too low for reasoning"
    losses.push(approximated.hint("reasoning.budgetTokens", why))
    return undefined
  }
  const budget = Math.min(Math.max(Math.floor(requested), least), most, maxTokens - 1)
  if (budget !== requested) {
    const why = `a reasoning budget must be at least ${least} tokens and below the output limit`
    losses.push(approximated.hint("reasoning.budgetTokens", why))
  }
  return budget
}
