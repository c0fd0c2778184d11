// Canonical settings as `generationConfig`, in one order.

import type { ChatSettings, OutputFormat, ReasoningSettings } from "../../../../canonical/chat/chat-request.ts"
import { budgetOf, effortOf, nearestEffort } from "../../../../canonical/chat/reasoning-effort.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { Loss } from "../../../../canonical/loss.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import { projectSchema } from "../gemini-schema.ts"
import type { GeminiDraft } from "../passthrough-fields.ts"
import { generationOf } from "./model-generation.ts"

interface SettingsEncodeContext {
  readonly context: UpstreamRequestContext
  /** True if the request came in this protocol, so that its schemas return unchanged. */
  readonly native: boolean
}

const MAX_STOPS = 5
const MAX_SEED = 2 ** 31 - 1
/** A budget that every model with budgets accepts. */
const MAX_BUDGET = 24_576

export function encodeSettings(settings: ChatSettings, encoding: SettingsEncodeContext): JsonObject {
  const { losses } = encoding.context
  reportUnsupported(settings, losses)
  const { stop, logprobs, modalities, candidates } = settings
  if (stop && stop.length > MAX_STOPS) throw tooManyStops(stop.length)
  const config: { [member: string]: JsonObject[string] | undefined } = {
    candidateCount: candidates,
    maxOutputTokens: settings.maxOutputTokens,
    temperature: settings.temperature,
    topP: settings.topP,
    topK: settings.topK,
    frequencyPenalty: settings.frequencyPenalty,
    presencePenalty: settings.presencePenalty,
    stopSequences: stop,
    seed: encodeSeed(settings.seed, losses),
    responseLogprobs: logprobs === undefined ? undefined : true,
    logprobs: logprobs === 0 ? undefined : logprobs,
    ...encodeFormat(settings.format, encoding),
    responseModalities: modalities?.map((modality) => modality.toUpperCase()),
    thinkingConfig: encodeReasoning(settings.reasoning, encoding.context),
  }
  const given: GeminiDraft = {}
  for (const [name, value] of Object.entries(config)) if (value !== undefined) given[name] = value
  return given
}

function reportUnsupported({ parallelToolCalls, verbosity, cacheKey, endUser }: ChatSettings, losses: Loss[]): void {
  const lose = (path: keyof ChatSettings, weight: Loss["weight"], why: string) =>
    losses.push({ path, weight, how: "dropped", why })
  if (parallelToolCalls === false) lose("parallelToolCalls", "meaning", "Gemini may call several tools at once.")
  if (verbosity !== undefined) lose("verbosity", "hint", "Gemini has no verbosity setting.")
  if (cacheKey !== undefined) lose("cacheKey", "hint", "Gemini has no cache key; it finds cached prompts on its own.")
  if (endUser !== undefined) lose("endUser", "hint", "Gemini has no end-user member.")
}

function tooManyStops(count: number): GatewayError {
  const message = `This model accepts at most ${MAX_STOPS} stop sequences; the request has ${count}. Send fewer.`
  return new GatewayError("unsupported_parameter", message, { param: "stop" })
}

function encodeSeed(seed: number | undefined, losses: Loss[]): number | undefined {
  if (seed === undefined || Math.abs(seed) <= MAX_SEED) return seed
  losses.push({ path: "seed", weight: "hint", how: "approximated", why: "Gemini's seeds have 31 bits." })
  return Math.abs(seed) % MAX_SEED
}

function encodeFormat(
  format: OutputFormat | undefined,
  { native, context: { losses } }: SettingsEncodeContext,
): JsonObject {
  if (!format) return {}
  if (format.kind !== "schema") return { responseMimeType: format.kind === "text" ? "text/plain" : "application/json" }
  if (format.name !== undefined) {
    losses.push({ path: "format.name", weight: "hint", how: "dropped", why: "Gemini's schemas have no names." })
  }
  if (format.strict === false) {
    losses.push({
      path: "format.strict",
      weight: "hint",
      how: "approximated",
      why: "Gemini always enforces the schema.",
    })
  }
  if (native) return { responseMimeType: "application/json", responseJsonSchema: format.schema }
  const { schema, dropped } = projectSchema(format.schema)
  if (dropped.length > 0) losses.push(droppedKeywords("format.schema", dropped))
  return { responseMimeType: "application/json", responseJsonSchema: schema }
}

export function droppedKeywords(path: string, keywords: readonly string[]): Loss {
  const why = `Gemini's schemas have no ${keywords.join(", ")}.`
  return { path, weight: "hint", how: "approximated", why }
}

function encodeReasoning(
  reasoning: ReasoningSettings | undefined,
  context: UpstreamRequestContext,
): JsonObject | undefined {
  if (!reasoning) return undefined
  const { losses } = context
  if (!context.reasons) {
    if (reasoning.effort === "none" || reasoning.budgetTokens === 0) return undefined
    losses.push({
      path: "reasoning",
      weight: "hint",
      how: "dropped",
      why: "The model does not reason.",
    })
    return undefined
  }
  if (reasoning.show === "full") {
    losses.push({
      path: "reasoning.show",
      weight: "hint",
      how: "approximated",
      why: "Gemini shows reasoning as a summary.",
    })
  }
  return { ...encodeShow(reasoning, context), ...encodeDepth(reasoning, context) }
}

/** The vendor returns reasoning only on request; other hosts return it by default. */
function encodeShow(
  { show, effort, budgetTokens }: ReasoningSettings,
  { showsThoughts }: UpstreamRequestContext,
): JsonObject {
  if (show !== undefined) return { includeThoughts: show !== "hidden" }
  const thinksLittle = effort === "none" || effort === "minimal" || budgetTokens === 0
  return showsThoughts && !thinksLittle ? { includeThoughts: true } : {}
}

const LEVELS = ["minimal", "low", "medium", "high"] as const

function encodeDepth(reasoning: ReasoningSettings, context: UpstreamRequestContext): JsonObject {
  const { effort, budgetTokens } = reasoning
  if (effort === undefined && budgetTokens === undefined) return {}
  const { efforts, thinkingTokens, model } = context
  const { thinksByLevel, leastBudget } = generationOf(model)
  const byLevel = efforts !== undefined || (thinksByLevel && !thinkingTokens && budgetTokens === undefined)
  if (byLevel)
    return encodeLevel(reasoning, { levels: LEVELS.filter((level) => efforts?.includes(level) ?? true), context })
  const { min = leastBudget, max = MAX_BUDGET } = thinkingTokens ?? {}
  return encodeBudget(reasoning, { min, max, context })
}

interface ThinkingLevelInput {
  readonly levels: readonly (typeof LEVELS)[number][]
  readonly context: UpstreamRequestContext
}

function encodeLevel(
  { effort, budgetTokens }: ReasoningSettings,
  { levels, context: { losses } }: ThinkingLevelInput,
): JsonObject {
  const wanted = effort ?? effortOf(budgetTokens ?? 0)
  const level = nearestEffort(wanted, levels.length > 0 ? levels : LEVELS)
  const why = `The nearest supported value is ${level}.`
  const path = effort === undefined ? "reasoning.budgetTokens" : "reasoning.effort"
  if (level !== effort) losses.push({ path, weight: "hint", how: "approximated", why })
  return { thinkingLevel: level.toUpperCase() }
}

interface ThinkingBudgetInput {
  readonly min: number
  readonly max: number
  readonly context: UpstreamRequestContext
}

function encodeBudget(
  { effort, budgetTokens }: ReasoningSettings,
  { min, max, context }: ThinkingBudgetInput,
): JsonObject {
  const near = (path: string, why: string) => context.losses.push({ path, weight: "hint", how: "approximated", why })
  const requested = budgetTokens ?? budgetOf(effort ?? "medium")
  // A negative budget lets the model decide.
  const budget = requested < 0 ? requested : Math.max(min, Math.min(max, requested))
  if (budgetTokens === undefined) {
    near("reasoning.effort", `This model accepts a token budget; ${effort} is sent as ${budget}.`)
  } else if (budget !== budgetTokens) {
    near("reasoning.budgetTokens", `This model accepts ${min} to ${max}.`)
  } else if (effort !== undefined) near("reasoning.effort", "Gemini accepts only one of the two; the budget is sent.")
  return { thinkingBudget: budget }
}
