// Encodes settings in a fixed order. Those without a counterpart are reported as lost, or refused.

import type {
  ChatRequest,
  ChatSettings,
  OutputFormat,
  ReasoningSettings,
} from "../../../../canonical/chat/chat-request.ts"
import { effortOf, nearestEffort } from "../../../../canonical/chat/reasoning-effort.ts"
import type { Json } from "../../../../canonical/json.ts"
import { approximated, dropped } from "../../../losses.ts"
import type { JsonDraft } from "../../../openai/field-reader.ts"
import { OUTPUT_AUDIO } from "../audio-format.ts"
import { type ChatEncodeContext, unsupportedSetting } from "./encode-context.ts"

const MAX_STOPS = 4
const MAX_ALTERNATIVES = 20

export function encodeSettings(request: ChatRequest, encodeContext: ChatEncodeContext): JsonDraft {
  const { settings } = request
  const { written } = encodeContext
  const { losses } = encodeContext.context
  const limit = limitMember(encodeContext)
  if (settings.topK !== undefined && !encodeContext.own)
    losses.push(dropped.hint("topK", "chat completions has no top_k"))
  const members: { readonly [name: string]: Json | undefined } = {
    [limit]: settings.maxOutputTokens,
    ...encodeSampling(settings, encodeContext),
    stop: encodeStop(settings, encodeContext),
    seed: settings.seed,
    n: settings.candidates,
    ...encodeLogprobs(settings, encodeContext),
    response_format: settings.format && encodeFormat(settings.format, encodeContext),
    ...encodeReasoning(settings.reasoning, encodeContext),
    parallel_tool_calls: encodeContext.own || request.tools.length > 0 ? settings.parallelToolCalls : undefined,
    verbosity: settings.verbosity,
    ...encodeModalities(settings, encodeContext),
    prompt_cache_key: settings.cacheKey,
    [written.endUser ?? "user"]: settings.endUser,
  }
  const draft: JsonDraft = {}
  for (const [name, value] of Object.entries(members)) if (value !== undefined) draft[name] = value
  return draft
}

/** The first member that the host knows: at OpenAI, reasoning models refuse the older one. */
function limitMember({ written, context: { reasons, limitMembers = ["max_tokens"] } }: ChatEncodeContext): string {
  const preferred = written.limit ?? (reasons ? "max_completion_tokens" : "max_tokens")
  return limitMembers.includes(preferred) ? preferred : (limitMembers[0] ?? preferred)
}

function encodeSampling(
  settings: ChatSettings,
  { own, context }: ChatEncodeContext,
): { readonly [name: string]: Json | undefined } {
  const { temperature, topP, topK, frequencyPenalty, presencePenalty } = settings
  if (!own && context.fixedSampling) {
    const lose = (name: string) => context.losses.push(dropped.hint(name, "the model does not allow setting it"))
    if (temperature !== undefined && temperature !== 1) lose("temperature")
    if (topP !== undefined && topP !== 1) lose("topP")
    if (frequencyPenalty) lose("frequencyPenalty")
    if (presencePenalty) lose("presencePenalty")
    return {}
  }
  return {
    temperature,
    top_p: topP,
    top_k: own ? topK : undefined,
    frequency_penalty: frequencyPenalty,
    presence_penalty: presencePenalty,
  }
}

function encodeStop({ stop }: ChatSettings, { own, written }: ChatEncodeContext): Json | undefined {
  if (!stop) return undefined
  if (written.stop === "text") return stop[0]
  if (own) return stop
  if (stop.length === 0) return undefined
  if (stop.length > MAX_STOPS) {
    throw unsupportedSetting(
      "stop",
      `has ${stop.length} sequences; this model's provider accepts at most ${MAX_STOPS}.`,
    )
  }
  return stop
}

function encodeLogprobs(
  { logprobs }: ChatSettings,
  { own, written: { plain }, context }: ChatEncodeContext,
): JsonDraft {
  if (plain?.logprobs === false) return { logprobs: false }
  if (logprobs === undefined) return {}
  const others = own ? logprobs : Math.min(logprobs, MAX_ALTERNATIVES)
  if (others < logprobs) {
    const why = `chat completions returns at most ${MAX_ALTERNATIVES} alternatives`
    context.losses.push(approximated.hint("logprobs", why))
  }
  return { logprobs: true, ...(plain?.top_logprobs !== "absent" && { top_logprobs: others }) }
}

function encodeFormat(format: OutputFormat, { written: { plain } }: ChatEncodeContext): Json {
  if (format.kind !== "schema") return { type: format.kind === "text" ? "text" : "json_object" }
  const { name = "answer", schema, strict } = format
  return {
    type: "json_schema",
    json_schema: {
      name,
      ...(plain?.schema !== "absent" && { schema }),
      ...(strict !== undefined && { strict }),
    },
  }
}

function encodeReasoning(
  reasoning: ReasoningSettings | undefined,
  { own, written, context }: ChatEncodeContext,
): JsonDraft {
  if (written.plain?.reasoning) return { reasoning: written.plain.reasoning }
  if (!reasoning) return {}
  const { effort, budgetTokens, show } = reasoning
  if (own) return effort ? { reasoning_effort: effort } : {}
  const { losses, reasons } = context
  if (show) losses.push(dropped.hint("reasoning.show", "the provider decides whether reasoning is shown"))
  const word = effort ?? (budgetTokens === undefined ? undefined : effortOf(budgetTokens))
  if (!reasons) {
    if (word && word !== "none") losses.push(dropped.hint("reasoning", "the model does not reason"))
    return {}
  }
  if (budgetTokens !== undefined && budgetTokens > 0) {
    losses.push(
      approximated.hint("reasoning.budgetTokens", "chat completions accepts effort levels, not token budgets"),
    )
  }
  if (!word) return {}
  const taken = context.efforts ? nearestEffort(word, context.efforts) : word
  if (taken !== word) losses.push(approximated.hint("reasoning.effort", `the nearest supported value is ${taken}`))
  return { reasoning_effort: taken }
}

function encodeModalities({ modalities }: ChatSettings, { own, context }: ChatEncodeContext): JsonDraft {
  if (!modalities) return {}
  if (own) return { modalities }
  if (modalities.includes("image")) {
    throw unsupportedSetting(
      "modalities",
      "asks for images, which this model's provider does not return over this protocol.",
    )
  }
  if (!modalities.includes("audio")) return {}
  context.losses.push(approximated.hint("modalities", "a voice is required, so the gateway chose one"))
  return { modalities: ["text", "audio"], audio: { voice: "alloy", format: OUTPUT_AUDIO.format } }
}
