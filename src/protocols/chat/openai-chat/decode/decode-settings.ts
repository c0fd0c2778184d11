// Decodes a request's settings.

import type { ChatSettings, OutputFormat, ReasoningSettings } from "../../../../canonical/chat/chat-request.ts"
import { EFFORT_BUDGETS, type ReasoningEffort } from "../../../../canonical/chat/reasoning-effort.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { type FieldReader, finite, flag, type JsonDraft, list, object, text } from "../../../openai/field-reader.ts"
import type { ChatWriting } from "../passthrough-fields.ts"

interface DecodedChatSettings {
  readonly settings: ChatSettings
  readonly written: ChatWriting
}

export function decodeSettings(fields: FieldReader): DecodedChatSettings {
  const plain: JsonDraft = {}
  const limit = smallestLimit(fields)
  const endUser = either(fields, ["safety_identifier", "user"], text)
  const stop = fields.take("stop", stopSequences)
  const reasoning = decodeReasoning(fields, plain)
  const settings = {
    maxOutputTokens: limit?.value,
    temperature: fields.take("temperature", finite),
    topP: fields.take("top_p", finite),
    topK: fields.take("top_k", finite),
    frequencyPenalty: fields.take("frequency_penalty", finite),
    presencePenalty: fields.take("presence_penalty", finite),
    stop: stop?.texts,
    seed: fields.take("seed", finite),
    candidates: fields.take("n", finite),
    logprobs: decodeLogprobs(fields, plain),
    format: fields.within("response_format", (format) => decodeFormat(format, plain)),
    reasoning,
    parallelToolCalls: fields.take("parallel_tool_calls", flag),
    verbosity: fields.take("verbosity", (value) => VERBOSITIES.find((word) => word === value)),
    modalities: fields.take("modalities", modalities),
    cacheKey: fields.take("prompt_cache_key", text),
    endUser: endUser?.value,
  }
  const written: ChatWriting = {
    ...(limit && { limit: limit.name }),
    ...(endUser && { endUser: endUser.name }),
    ...(stop?.isText && { stop: "text" as const }),
    ...(Object.keys(plain).length > 0 && { plain }),
  }
  return { settings: Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)), written }
}

const VERBOSITIES = ["low", "medium", "high"] as const

/** The smaller of the two members, with its name. */
function smallestLimit(fields: FieldReader): { readonly name: string; readonly value: number } | undefined {
  const newer = fields.take("max_completion_tokens", finite)
  const older = fields.take("max_tokens", finite)
  if (newer === undefined) return older === undefined ? undefined : { name: "max_tokens", value: older }
  return { name: "max_completion_tokens", value: older === undefined ? newer : Math.min(newer, older) }
}

/** The first of these members with a value; a second one passes through. */
function either<T>(
  fields: FieldReader,
  names: readonly string[],
  read: (value: Json) => T | undefined,
): { readonly name: string; readonly value: T } | undefined {
  for (const name of names) {
    const value = fields.take(name, read)
    if (value !== undefined) return { name, value }
  }
  return undefined
}

function stopSequences(value: Json): { readonly texts: readonly string[]; readonly isText: boolean } | undefined {
  if (typeof value === "string") return { texts: [value], isText: true }
  const texts = list(value)?.flatMap((each) => text(each) ?? [])
  return texts && texts.length === list(value)?.length ? { texts, isText: false } : undefined
}

function decodeLogprobs(fields: FieldReader, plain: JsonDraft): number | undefined {
  const requested = fields.take("logprobs", flag)
  if (requested === undefined) return undefined
  if (!requested) plain.logprobs = false
  const others = requested ? fields.take("top_logprobs", finite) : undefined
  if (requested && others === undefined) plain.top_logprobs = "absent"
  return requested ? (others ?? 0) : undefined
}

function decodeFormat(fields: FieldReader, plain: JsonDraft): OutputFormat | undefined {
  const type = fields.take("type", text)
  if (type === "text") return { kind: "text" }
  if (type === "json_object") return { kind: "json" }
  if (type !== "json_schema") return undefined
  return fields.within("json_schema", (named) => {
    const name = named.take("name", text)
    const schema = named.take("schema", object)
    const strict = named.take("strict", flag)
    if (!schema) plain.schema = "absent"
    return {
      kind: "schema",
      ...(name !== undefined && { name }),
      schema: schema ?? {},
      ...(strict !== undefined && { strict }),
    }
  })
}

const EFFORTS: ReadonlyMap<Json, ReasoningEffort> = new Map(EFFORT_BUDGETS.map(([effort]) => [effort, effort]))

/** OpenAI has an effort; the members of other gateways and hosts return to these unchanged. */
function decodeReasoning(fields: FieldReader, plain: JsonDraft): ReasoningSettings | undefined {
  const effort = fields.take("reasoning_effort", (value) => EFFORTS.get(value))
  if (effort !== undefined) return { effort }
  for (const [name, read] of OTHER_WISHES) {
    const reasoning = fields.take(name, (value) => {
      const decoded = isObject(value) ? read(value) : undefined
      if (decoded) plain[name] = value
      return decoded
    })
    if (reasoning) return reasoning
  }
  return undefined
}

/** OpenRouter's member, LiteLLM's, and Google's for its own host. */
const OTHER_WISHES: readonly (readonly [name: string, read: (value: JsonObject) => ReasoningSettings | undefined])[] = [
  ["reasoning", reasoningWish],
  ["thinking", thinkingWish],
  ["extra_body", googleWish],
]

/** Reasoning settings from members that are not OpenAI's. */
export function reasoningIn(body: JsonObject): ReasoningSettings | undefined {
  for (const [name, read] of OTHER_WISHES) {
    const value = body[name]
    const reasoning = isObject(value) ? read(value) : undefined
    if (reasoning) return reasoning
  }
  return undefined
}

function thinkingWish({ type, budget_tokens, ...more }: JsonObject): ReasoningSettings | undefined {
  if (Object.keys(more).length > 0) return undefined
  if (type === "disabled") return { effort: "none" }
  if (type !== "enabled" && type !== "adaptive") return undefined
  return typeof budget_tokens === "number" ? { budgetTokens: budget_tokens } : {}
}

function googleWish({ google }: JsonObject): ReasoningSettings | undefined {
  const config = isObject(google) ? google.thinking_config : undefined
  if (!isObject(config)) return undefined
  const { thinking_budget: budget, thinking_level: level, include_thoughts: shows } = config
  const effort = typeof level === "string" ? EFFORTS.get(level.toLowerCase()) : undefined
  return {
    ...(effort && { effort }),
    // A negative budget lets the model decide.
    ...(typeof budget === "number" && budget >= 0 && { budgetTokens: budget }),
    ...(shows === true && { show: "full" as const }),
  }
}

function reasoningWish({ effort, max_tokens, exclude, enabled, ...more }: JsonObject): ReasoningSettings | undefined {
  if (Object.keys(more).length > 0) return undefined
  const word = enabled === false ? "none" : effort === undefined ? undefined : EFFORTS.get(effort)
  return {
    ...(word && { effort: word }),
    ...(typeof max_tokens === "number" && { budgetTokens: max_tokens }),
    ...(exclude === true && { show: "hidden" as const }),
  }
}

const MODALITIES = ["text", "image", "audio"] as const

function modalities(value: Json): ChatSettings["modalities"] {
  const known = list(value)?.flatMap((each) => MODALITIES.find((word) => word === each) ?? [])
  return known && known.length === list(value)?.length ? known : undefined
}
