// Encodes reasoning settings in the form of the model's vendor.

import type { ChatRequest, ConversationTurn, ReasoningSettings } from "../../../../canonical/chat/chat-request.ts"
import { partsBeforeToolResults } from "../../../../canonical/chat/parts-before-tool-results.ts"
import { budgetOf, effortOf, nearestEffort, type ReasoningEffort } from "../../../../canonical/chat/reasoning-effort.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { approximated, dropped } from "../../../losses.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import type { BedrockEncodeContext } from "./encode-context.ts"
import { isForced } from "./encode-tools.ts"

export interface ConverseThinking {
  /** Members of `additionalModelRequestFields`. */
  readonly fields: JsonObject
  readonly thinks: boolean
  /** Set if the model rejects sampling settings. */
  readonly samples?: "itself"
  /** An output limit that is required with a budget. */
  readonly maxTokens?: number
}

const NONE: ConverseThinking = { fields: {}, thinks: false }

/** The efforts that every model with an effort setting accepts. */
const EFFORTS: readonly ReasoningEffort[] = ["low", "medium", "high"]
const LEAST_BUDGET = 1024
const DISPLAYS = { full: "summarized", summary: "summarized", hidden: "omitted" } as const

export function encodeThinking(request: ChatRequest, encodeContext: BedrockEncodeContext): ConverseThinking {
  const reasoning = request.settings.reasoning
  if (!reasoning) return NONE
  if (reasoning.effort === "none" || reasoning.budgetTokens === 0) return encodeNone(encodeContext)
  const { family, losses, reasons } = encodeContext
  const forced = request.toolChoice !== undefined && isForced(request.toolChoice)
  const lose = (why: string): ConverseThinking => {
    losses.push(dropped.hint("reasoning", why))
    return NONE
  }
  if (!reasons) return lose("the model does not reason")
  if (!family.thinking) return lose("the reasoning effort of this model cannot be set")
  if (family.isClaude && forced) return lose("the model does not reason when it must call a tool")
  if (family.thinking === "budget") {
    if (isUnsigned(request.turns, encodeContext)) return lose("the reasoning before the tool calls is missing")
    return encodeBudget(reasoning, request, encodeContext)
  }
  if (family.thinking === "adaptive") return encodeAdaptive(reasoning, encodeContext)
  if (reasoning.show !== undefined)
    losses.push(dropped.hint("reasoning.show", "the model decides how much reasoning it shows"))
  return encodeEffort(reasoning, request, encodeContext)
}

function encodeNone({ family, efforts, losses, reasons }: BedrockEncodeContext): ConverseThinking {
  if (!reasons) return NONE
  if (family.thinking === "budget") return { fields: { thinking: { type: "disabled" } }, thinks: false }
  if (family.thinking === "reasoningConfig") return { fields: { reasoningConfig: { type: "disabled" } }, thinks: false }
  if (efforts?.includes("none")) {
    if (family.thinking === "reasoning_effort") return { fields: { reasoning_effort: "none" }, thinks: false }
    if (family.thinking === "reasoning.effort") return { fields: { reasoning: { effort: "none" } }, thinks: false }
  }
  losses.push(dropped.hint("reasoning", "reasoning cannot be disabled explicitly; it is not requested"))
  return NONE
}

/** Claude continues after tool results only with its own reasoning before the calls. */
function isUnsigned(turns: readonly ConversationTurn[], { minter }: BedrockEncodeContext): boolean {
  const parts = partsBeforeToolResults(turns)
  const isSigned = parts.some((part) => {
    if (part.kind !== "reasoning" || !part.sealed) return false
    return part.sealed.mintedBy === minter || part.sealed.mintedBy === PROTOCOL
  })
  return !isSigned && parts.some(({ kind }) => kind === "tool-call")
}

function encodeBudget(
  reasoning: ReasoningSettings,
  { settings }: ChatRequest,
  encodeContext: BedrockEncodeContext,
): ConverseThinking {
  const { losses, maxOutputTokens, thinkingTokens } = encodeContext
  const { effort, budgetTokens, show } = reasoning
  if (show !== undefined && show !== "full") {
    losses.push(dropped.hint("reasoning.show", "the model shows its full reasoning"))
  }
  const requested = budgetTokens ?? (effort && budgetOf(effort))
  if (requested === undefined) {
    losses.push(dropped.hint("reasoning", "the model reasons only with a token budget"))
    return NONE
  }
  if (budgetTokens === undefined) {
    losses.push(
      approximated.hint("reasoning.effort", `the model accepts a token budget; ${effort} becomes ${requested}`),
    )
  } else if (effort !== undefined) losses.push(dropped.hint("reasoning.effort", "the token budget sets the effort"))
  const maxTokens = Math.min(settings.maxOutputTokens ?? maxOutputTokens, maxOutputTokens)
  const least = Math.max(LEAST_BUDGET, thinkingTokens?.min ?? 0)
  const most = Math.min(maxTokens - 1, thinkingTokens?.max ?? Number.POSITIVE_INFINITY)
  if (most < least) {
    losses.push(dropped.hint("reasoning", "the output limit is too low for reasoning"))
    return NONE
  }
  const budget = Math.min(Math.max(Math.floor(requested), least), most)
  if (budget !== requested) {
    const why = `a reasoning budget must be at least ${least} tokens and below the output limit`
    losses.push(approximated.hint(budgetTokens === undefined ? "reasoning.effort" : "reasoning.budgetTokens", why))
  }
  const thinking = { type: "enabled", budget_tokens: budget }
  return { fields: { thinking }, thinks: true, samples: "itself", maxTokens }
}

function encodeAdaptive(reasoning: ReasoningSettings, encodeContext: BedrockEncodeContext): ConverseThinking {
  const { show } = reasoning
  if (show === "full") encodeContext.losses.push(approximated.hint("reasoning.show", "reasoning is shown as a summary"))
  const effort = effortWord(reasoning, encodeContext)
  const display = show === undefined ? {} : { display: DISPLAYS[show] }
  const fields = { thinking: { type: "adaptive", ...display }, ...(effort && { output_config: { effort } }) }
  return { fields, thinks: true, samples: "itself" }
}

function encodeEffort(
  reasoning: ReasoningSettings,
  { settings }: ChatRequest,
  encodeContext: BedrockEncodeContext,
): ConverseThinking {
  const word = effortWord(reasoning, encodeContext)
  if (!word) return NONE
  if (encodeContext.family.thinking === "reasoning_effort") return { fields: { reasoning_effort: word }, thinks: true }
  if (encodeContext.family.thinking === "reasoning.effort")
    return { fields: { reasoning: { effort: word } }, thinks: true }
  const isMost = word === "high"
  const limited = isMost && settings.maxOutputTokens !== undefined
  if (limited) {
    const why = "the highest effort cannot be combined with an output limit; a lower effort is requested"
    encodeContext.losses.push(approximated.hint("reasoning.effort", why))
  }
  const reasoningConfig = { type: "enabled", maxReasoningEffort: limited ? "medium" : word }
  return { fields: { reasoningConfig }, thinks: true, ...(isMost && !limited && { samples: "itself" as const }) }
}

/** The nearest effort that the model accepts; a budget is converted. */
function effortWord(
  { effort, budgetTokens }: ReasoningSettings,
  { efforts, losses }: BedrockEncodeContext,
): ReasoningEffort | undefined {
  const meant = effort ?? (budgetTokens === undefined ? undefined : effortOf(budgetTokens))
  if (meant === undefined) return undefined
  const known = efforts?.filter((each) => each !== "none") ?? []
  const word = nearestEffort(meant, known.length > 0 ? known : EFFORTS)
  if (budgetTokens !== undefined) {
    losses.push(approximated.hint("reasoning.budgetTokens", `the model accepts an effort level: ${word}`))
  }
  if (effort !== undefined && word !== effort) {
    losses.push(approximated.hint("reasoning.effort", `the nearest supported value is ${word}`))
  }
  return word
}
