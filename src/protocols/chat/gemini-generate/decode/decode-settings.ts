// A request's `generationConfig` as canonical settings.

import type { ChatSettings, OutputFormat, ReasoningSettings } from "../../../../canonical/chat/chat-request.ts"
import type { Json } from "../../../../canonical/json.ts"
import { toJsonSchema } from "../gemini-schema.ts"
import { finite, type GeminiFieldReader, text, whole } from "../passthrough-fields.ts"

export function decodeSettings(config: GeminiFieldReader): ChatSettings {
  const settings: { [Name in keyof ChatSettings]: ChatSettings[Name] | undefined } = {
    maxOutputTokens: config.take("maxOutputTokens", whole),
    temperature: config.take("temperature", finite),
    topP: config.take("topP", finite),
    topK: config.take("topK", finite),
    frequencyPenalty: config.take("frequencyPenalty", finite),
    presencePenalty: config.take("presencePenalty", finite),
    stop: config.take("stopSequences", texts),
    seed: config.take("seed", whole),
    candidates: config.take("candidateCount", whole),
    logprobs: logprobs(config),
    format: format(config),
    reasoning: config.within("thinkingConfig", reasoning),
    modalities: config.take("responseModalities", modalities),
  }
  return present(settings)
}

function present(settings: { [Name in keyof ChatSettings]: ChatSettings[Name] | undefined }): ChatSettings {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}

function texts(value: Json): readonly string[] | undefined {
  return Array.isArray(value) && value.every((each) => typeof each === "string") ? value : undefined
}

/** The number of alternatives has no effect unless log probabilities are requested. */
function logprobs(config: GeminiFieldReader): number | undefined {
  const requested = config.take("responseLogprobs", (value) => (value === true ? true : undefined))
  return requested && (config.take("logprobs", whole) ?? 0)
}

/** Types without a canonical counterpart, such as enumerations, pass through with their schema. */
function format(config: GeminiFieldReader): OutputFormat | undefined {
  const kind = config.take("responseMimeType", (value) => FORMATS[text(value) ?? ""])
  if (kind !== "json") return kind && { kind }
  const schema =
    config.take("responseJsonSchema", (value) => value) ?? config.take("responseSchema", (value) => toJsonSchema(value))
  return schema === undefined ? { kind } : { kind: "schema", schema }
}

const FORMATS: Readonly<Record<string, "text" | "json">> = { "text/plain": "text", "application/json": "json" }

function reasoning(config: GeminiFieldReader): ReasoningSettings | undefined {
  const effort = config.take("thinkingLevel", (value) => EFFORTS[String(text(value)).toUpperCase()])
  // A negative budget lets the model decide, which has no canonical counterpart.
  const budgetTokens = config.take("thinkingBudget", (value) => (Number(value) < 0 ? undefined : whole(value)))
  const show = config.take("includeThoughts", (value) =>
    value === true ? "summary" : value === false ? "hidden" : undefined,
  )
  if (effort === undefined && budgetTokens === undefined && show === undefined) return undefined
  return {
    ...(effort && { effort }),
    ...(budgetTokens !== undefined && { budgetTokens }),
    ...(show && { show }),
  }
}

const EFFORTS: Readonly<Record<string, NonNullable<ReasoningSettings["effort"]>>> = {
  MINIMAL: "minimal",
  LOW: "low",
  MEDIUM: "medium",
  HIGH: "high",
}

type OutputModality = NonNullable<ChatSettings["modalities"]>[number]

const MODALITIES: Readonly<Record<string, OutputModality>> = { TEXT: "text", IMAGE: "image", AUDIO: "audio" }

function modalities(value: Json): readonly OutputModality[] | undefined {
  if (!Array.isArray(value)) return undefined
  const known = value.flatMap((each: Json) => (typeof each === "string" ? (MODALITIES[each] ?? []) : []))
  return known.length === value.length ? known : undefined
}
