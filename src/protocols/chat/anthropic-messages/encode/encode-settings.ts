// Encodes settings. Unsupported ones are dropped and reported, or refused if that would change the response visibly.

import type { ChatRequest, ChatSettings, OutputFormat } from "../../../../canonical/chat/chat-request.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import { isObject, type JsonObject } from "../../../../canonical/json.ts"
import type { Losses } from "../../../../canonical/loss.ts"
import { approximated, dropped } from "../../../losses.ts"
import { resolveReference, strictSchema } from "../../../schema/tool-schema.ts"
import { fates } from "../fates.ts"
import type { AnthropicEncodeContext } from "./encode-context.ts"
import { type AnthropicThinking, encodeThinking, ownThinking } from "./encode-reasoning-settings.ts"
import { isForced } from "./encode-tools.ts"

export interface AnthropicSettings {
  readonly members: JsonObject
  /** An instruction in the prompt, for settings that no member can express. */
  readonly instruction?: string
}

export function encodeSettings(
  { settings, toolChoice, turns }: ChatRequest,
  encodeContext: AnthropicEncodeContext,
): AnthropicSettings {
  if (encodeContext.own) return { members: ownSettings(settings, encodeContext) }
  refuseUnsupported(settings)
  dropHints(settings, encodeContext)
  const max_tokens = maxTokens(settings, encodeContext)
  const forced = toolChoice !== undefined && isForced(toolChoice)
  const reasoning = settings.reasoning
  const thought = reasoning ? encodeThinking(reasoning, { maxTokens: max_tokens, forced, turns, encodeContext }) : {}
  const format = encodeFormat(settings.format, encodeContext)
  const thinks = thought.thinking !== undefined && thought.thinking.type !== "disabled"
  return {
    members: {
      max_tokens,
      ...encodeSampling(settings, { fixed: fixedWhy(thinks, encodeContext), losses: encodeContext.losses }),
      ...stopSequences(settings.stop, encodeContext),
      ...outputMembers(thought, format.wire),
      ...endUser(settings),
    },
    ...(format.instruction !== undefined && { instruction: format.instruction }),
  }
}

/** As they were written. */
function ownSettings(settings: ChatSettings, { maxOutputTokens }: AnthropicEncodeContext): JsonObject {
  const { temperature, topP, topK, stop, format, reasoning } = settings
  const wire = format?.kind === "schema" ? { type: "json_schema", schema: format.schema } : undefined
  return {
    max_tokens: settings.maxOutputTokens ?? maxOutputTokens,
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(topK !== undefined && { top_k: topK }),
    ...(stop && { stop_sequences: stop }),
    ...outputMembers(reasoning ? ownThinking(reasoning) : {}, wire),
    ...endUser(settings),
  }
}

function outputMembers({ thinking, effort }: AnthropicThinking, format: JsonObject | undefined): JsonObject {
  const configured = effort !== undefined || format !== undefined
  const output_config = { ...(effort !== undefined && { effort }), ...(format && { format }) }
  return { ...(thinking && { thinking }), ...(configured && { output_config }) }
}

function endUser({ endUser: user }: ChatSettings): JsonObject {
  return user === undefined ? {} : { metadata: { user_id: user } }
}

function maxTokens(
  { maxOutputTokens: requested }: ChatSettings,
  { maxOutputTokens: most, losses }: AnthropicEncodeContext,
): number {
  if (requested === undefined || requested <= most) return requested ?? most
  losses.push(approximated.hint("maxOutputTokens", `the model generates at most ${most} tokens`))
  return most
}

function refuseUnsupported({ candidates = 1, logprobs, modalities }: ChatSettings): void {
  if (candidates > 1) throw refuseSetting("candidates")
  if (logprobs !== undefined) throw refuseSetting("logprobs")
  if (modalities?.some((each) => each !== "text")) throw refuseSetting("modalities")
}

function refuseSetting(param: "candidates" | "logprobs" | "modalities"): GatewayError {
  const message = `\`${param}\` is not supported by this model's provider: ${fates[param].note}. Leave it out.`
  return new GatewayError("unsupported_parameter", message, { param })
}

function dropHints(settings: ChatSettings, { losses }: AnthropicEncodeContext): void {
  for (const name of ["frequencyPenalty", "presencePenalty", "seed", "verbosity", "cacheKey"] as const) {
    const value = settings[name]
    const isIdle = value === undefined || (value === 0 && name !== "seed")
    if (!isIdle) losses.push(dropped.hint(name, fates[name].note))
  }
}

/** The reason why sampling cannot be set; undefined if it can. */
function fixedWhy(thinks: boolean, { fixedSampling }: AnthropicEncodeContext): string | undefined {
  if (fixedSampling) return "the model does not allow setting it"
  return thinks ? "the vendor sets it while the model reasons" : undefined
}

function encodeSampling(
  settings: ChatSettings,
  { fixed, losses }: { fixed: string | undefined; losses: Losses },
): JsonObject {
  const { temperature, topP, topK } = settings
  const lose = (name: string, why: string) => losses.push(dropped.hint(name, why))
  if (fixed !== undefined) {
    if (temperature !== undefined && temperature !== 1) lose("temperature", fixed)
    if (topP !== undefined && topP !== 1) lose("topP", fixed)
    if (topK !== undefined) lose("topK", fixed)
    return {}
  }
  if (temperature !== undefined && temperature > 1) {
    losses.push(approximated.meaning("temperature", "a temperature is at most 1"))
  }
  const both = temperature !== undefined && topP !== undefined
  if (both && topP !== 1) lose("topP", "the vendor accepts temperature or top_p, not both")
  return {
    ...(temperature !== undefined && { temperature: Math.min(temperature, 1) }),
    ...(topP !== undefined && !both && { top_p: topP }),
    ...(topK !== undefined && { top_k: topK }),
  }
}

function stopSequences(stop: ChatSettings["stop"], { losses }: AnthropicEncodeContext): JsonObject {
  if (!stop) return {}
  const sequences = stop.filter((sequence) => sequence.trim() !== "")
  if (sequences.length < stop.length)
    losses.push(dropped.meaning("stop", "the vendor does not accept white space as a stop sequence"))
  return sequences.length > 0 ? { stop_sequences: sequences } : {}
}

const JSON_ONLY = "Answer with one JSON object and nothing else: no prose around it, no code fence."

interface AnthropicFormat {
  readonly wire?: JsonObject
  readonly instruction?: string
}

function encodeFormat(format: OutputFormat | undefined, { losses }: AnthropicEncodeContext): AnthropicFormat {
  if (!format || format.kind === "text") return {}
  if (format.kind !== "schema") {
    losses.push(approximated.meaning("format", "JSON without a schema is requested in the prompt"))
    return { instruction: JSON_ONLY }
  }
  if (format.name !== undefined)
    losses.push(dropped.hint("format.name", "formats have no name in the messages protocol"))
  if (format.strict === false) losses.push(approximated.hint("format.strict", "the vendor always enforces the schema"))
  const report = (path: string, keyword: string) => {
    const why = `the vendor does not enforce \`${keyword}\``
    losses.push(approximated.meaning(`format.schema${path}.${keyword}`, why))
  }
  const whole = isObject(format.schema) ? resolveReference(format.schema, format.schema) : format.schema
  const schema = strictSchema(whole, { report })
  return { wire: { type: "json_schema", schema } }
}
