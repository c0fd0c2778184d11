// Encodes settings in a fixed order. Those without a counterpart are reported as lost, or refused.

import type {
  ChatRequest,
  ChatSettings,
  OutputFormat,
  ReasoningSettings,
} from "../../../../canonical/chat/chat-request.ts"
import { effortOf, nearestEffort } from "../../../../canonical/chat/reasoning-effort.ts"
import type { Json, JsonObject } from "../../../../canonical/json.ts"
import type { Losses } from "../../../../canonical/loss.ts"
import { approximated, dropped } from "../../../losses.ts"
import type { JsonDraft } from "../../../openai/field-reader.ts"
import { isStrict } from "../../../schema/strict-schema.ts"
import { LOGPROBS, SEALS } from "../decode/decode-settings.ts"
import { fates } from "../fates.ts"
import { type ResponsesEncodeContext, unsupportedSetting } from "./encode-context.ts"

const LEAST_TOKENS = 16
const MAX_ALTERNATIVES = 20
const MAX_NAME = 64

export function encodeSettings(request: ChatRequest, encodeContext: ResponsesEncodeContext): JsonDraft {
  const { settings } = request
  if (!encodeContext.own) {
    refuseUnsupported(settings)
    dropHints(settings, encodeContext)
  }
  const sampled = encodeContext.own ? settings : samplingOf(settings, encodeContext)
  const members: { readonly [name: string]: Json | undefined } = {
    max_output_tokens: encodeLimit(settings.maxOutputTokens, encodeContext),
    temperature: sampled.temperature,
    top_p: sampled.topP,
    frequency_penalty: encodeContext.own ? settings.frequencyPenalty : undefined,
    presence_penalty: encodeContext.own ? settings.presencePenalty : undefined,
    ...encodeLogprobs(sampled.logprobs, encodeContext),
    text: encodeText(settings, encodeContext),
    reasoning: encodeReasoning(settings.reasoning, encodeContext),
    include: encodeInclude(sampled.logprobs, encodeContext),
    parallel_tool_calls: encodeContext.own || request.tools.length > 0 ? settings.parallelToolCalls : undefined,
    prompt_cache_key: fitLength("cacheKey", settings.cacheKey, encodeContext),
    [encodeContext.written.endUser ?? "safety_identifier"]: fitLength("endUser", settings.endUser, encodeContext),
  }
  const draft: JsonDraft = {}
  for (const [name, value] of Object.entries(members)) if (value !== undefined) draft[name] = value
  return draft
}

function refuseUnsupported({ stop, candidates = 1, modalities }: ChatSettings): void {
  if (stop && stop.length > 0) throw unsupportedSettingError("stop")
  if (candidates > 1) throw unsupportedSettingError("candidates")
  if (modalities?.some((each) => each !== "text")) throw unsupportedSettingError("modalities")
}

function unsupportedSettingError(param: "stop" | "candidates" | "modalities"): Error {
  return unsupportedSetting(param, `is not supported by this model's provider: ${fates[param].note}. Leave it out.`)
}

function dropHints(settings: ChatSettings, { context }: ResponsesEncodeContext): void {
  for (const name of ["topK", "frequencyPenalty", "presencePenalty", "seed"] as const) {
    const value = settings[name]
    const isIdle = value === undefined || (value === 0 && name !== "seed")
    if (!isIdle) context.losses.push(dropped.hint(name, fates[name].note))
  }
}

/** Sampling settings and log probabilities. */
function samplingOf(
  settings: ChatSettings,
  { context }: ResponsesEncodeContext,
): Pick<ChatSettings, "temperature" | "topP" | "logprobs"> {
  if (!context.fixedSampling) return settings
  const why = "the model does not allow setting it"
  const { temperature, topP, logprobs } = settings
  if (temperature !== undefined && temperature !== 1) context.losses.push(dropped.hint("temperature", why))
  if (topP !== undefined && topP !== 1) context.losses.push(dropped.hint("topP", why))
  if (logprobs !== undefined) context.losses.push(dropped.hint("logprobs", why))
  return {}
}

function encodeLimit(limit: number | undefined, { own, context }: ResponsesEncodeContext): number | undefined {
  if (limit === undefined || own || limit >= LEAST_TOKENS) return limit
  const why = `this model's provider accepts a limit of at least ${LEAST_TOKENS} tokens`
  context.losses.push(approximated.meaning("maxOutputTokens", why))
  return LEAST_TOKENS
}

/** A key or name, which the vendor refuses if it is longer. */
function fitLength(
  name: "cacheKey" | "endUser",
  value: string | undefined,
  { own, context }: ResponsesEncodeContext,
): string | undefined {
  if (value === undefined || own || value.length <= MAX_NAME) return value
  context.losses.push(dropped.hint(name, `this model's provider accepts at most ${MAX_NAME} characters`))
  return undefined
}

function encodeLogprobs(logprobs: number | undefined, { own, written, context }: ResponsesEncodeContext): JsonDraft {
  if (logprobs === undefined || written.alternatives === "absent") return {}
  if (own || logprobs <= MAX_ALTERNATIVES) return { top_logprobs: logprobs }
  const why = `at most ${MAX_ALTERNATIVES} alternatives are returned`
  context.losses.push(approximated.hint("logprobs", why))
  return { top_logprobs: MAX_ALTERNATIVES }
}

function encodeInclude(
  logprobs: number | undefined,
  { own, written, context }: ResponsesEncodeContext,
): Json | undefined {
  const include = [...(written.include ?? [])]
  // Without it, reasoning could not be sent back, because the provider stores nothing.
  if (context.reasons && !include.includes(SEALS)) include.push(SEALS)
  if (!own && logprobs !== undefined) include.push(LOGPROBS)
  return include.length > 0 || written.include ? include : undefined
}

function encodeText(
  { format, verbosity }: ChatSettings,
  { own, written, context }: ResponsesEncodeContext,
): Json | undefined {
  if (!format && !verbosity && !written.text) return undefined
  const encoded = format && (own ? ownFormat(format) : encodeFormat(format, context.losses))
  return { ...(encoded && { format: encoded }), ...(verbosity && { verbosity }) }
}

function ownFormat(format: OutputFormat): JsonObject {
  if (format.kind !== "schema") return { type: format.kind === "text" ? "text" : "json_object" }
  const { kind: _, ...members } = format
  return { type: "json_schema", ...members }
}

function encodeFormat(format: OutputFormat, losses: Losses): JsonObject {
  if (format.kind !== "schema") return ownFormat(format)
  const { name, schema, strict } = format
  if (name === undefined) {
    losses.push(approximated.hint("format.name", "a schema name is required, so the gateway chose one"))
  }
  const isHeld = strict !== false && isStrict(schema)
  if (strict !== false && !isHeld) {
    const why = "a schema with open members is sent to the model but not enforced"
    losses.push(approximated[strict ? "meaning" : "hint"]("format.strict", why))
  }
  const known = name?.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, MAX_NAME) ?? "answer"
  return { type: "json_schema", name: known, schema, strict: isHeld }
}

function encodeReasoning(
  reasoning: ReasoningSettings | undefined,
  encodeContext: ResponsesEncodeContext,
): Json | undefined {
  if (!reasoning) return undefined
  const { own, written, context } = encodeContext
  const { effort, budgetTokens, show } = reasoning
  const summary = written.summary === undefined ? {} : { summary: written.summary }
  if (own) return { ...(effort && { effort: nearestEffortWord(effort, encodeContext) }), ...summary }
  const { losses, reasons } = context
  const word = effort ?? (budgetTokens === undefined ? undefined : effortOf(budgetTokens))
  if (!reasons) {
    if (word !== "none") losses.push(dropped.hint("reasoning", "the model does not reason"))
    return undefined
  }
  if (budgetTokens !== undefined && budgetTokens > 0 && effort === undefined) {
    losses.push(
      approximated.hint("reasoning.budgetTokens", "the responses interface accepts effort levels, not token budgets"),
    )
  }
  if (show === "full") losses.push(approximated.hint("reasoning.show", "reasoning is shown as a summary"))
  // A token budget comes from protocols that show reasoning by default.
  const isShown = show === "summary" || show === "full" || (show === undefined && budgetTokens !== undefined)
  const members = {
    ...(word && { effort: nearestEffortWord(word, encodeContext) }),
    ...summaryOf(show, isShown && word !== "none"),
  }
  return Object.keys(members).length > 0 ? members : undefined
}

function summaryOf(show: ReasoningSettings["show"], isShown: boolean): JsonDraft {
  if (show === "hidden") return { summary: null }
  return isShown ? { summary: "auto" } : {}
}

function nearestEffortWord(
  effort: NonNullable<ReasoningSettings["effort"]>,
  { own, context }: ResponsesEncodeContext,
): string {
  const { efforts, losses } = context
  if (own || !efforts || efforts.length === 0) return effort
  const word = nearestEffort(effort, efforts)
  if (word !== effort) losses.push(approximated.hint("reasoning.effort", `the nearest supported value is ${word}`))
  return word
}
