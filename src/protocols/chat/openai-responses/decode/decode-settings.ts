// Decodes a request's settings.

import type { ChatSettings, OutputFormat, ReasoningSettings } from "../../../../canonical/chat/chat-request.ts"
import { EFFORT_BUDGETS, type ReasoningEffort } from "../../../../canonical/chat/reasoning-effort.ts"
import type { Json } from "../../../../canonical/json.ts"
import { type FieldReader, finite, flag, list, object, text } from "../../../openai/field-reader.ts"
import type { ResponsesWriting } from "../passthrough-fields.ts"

interface DecodedResponsesSettings {
  readonly settings: ChatSettings
  readonly written: ResponsesWriting
}

/** The `include` value for seals of reasoning, which are always sent. */
export const SEALS = "reasoning.encrypted_content"
export const LOGPROBS = "message.output_text.logprobs"

export function decodeSettings(fields: FieldReader): DecodedResponsesSettings {
  const include = fields.take("include", readInclude)
  const endUser = either(fields, ["safety_identifier", "user"], text)
  const thought = fields.within("reasoning", decodeReasoning)
  const textSettings = decodeText(fields)
  const likely = decodeLogprobs(fields, include)
  const settings = {
    maxOutputTokens: fields.take("max_output_tokens", finite),
    temperature: fields.take("temperature", finite),
    topP: fields.take("top_p", finite),
    // Open Responses' own.
    frequencyPenalty: fields.take("frequency_penalty", finite),
    presencePenalty: fields.take("presence_penalty", finite),
    logprobs: likely.logprobs,
    format: textSettings?.format,
    reasoning: thought?.reasoning,
    parallelToolCalls: fields.take("parallel_tool_calls", flag),
    verbosity: textSettings?.verbosity,
    cacheKey: fields.take("prompt_cache_key", text),
    endUser: endUser?.value,
  }
  return {
    settings: Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)),
    written: {
      ...(include && { include }),
      ...(endUser && { endUser: endUser.name }),
      ...(thought?.summary !== undefined && { summary: thought.summary }),
      ...(textSettings && { text: true }),
      ...likely.written,
    },
  }
}

/** Other `include` values concern tools of this protocol and pass through with them. */
function readInclude(value: Json): string[] | undefined {
  const names = list(value)?.flatMap((each) => text(each) ?? [])
  return names && names.length === list(value)?.length ? names : undefined
}

function decodeLogprobs(
  fields: FieldReader,
  include: readonly string[] | undefined,
): { readonly logprobs?: number; readonly written?: ResponsesWriting } {
  const others = fields.take("top_logprobs", finite)
  const included = include?.includes(LOGPROBS) ?? false
  if (others === undefined) return included ? { logprobs: 0, written: { alternatives: "absent" } } : {}
  // Without alternatives and without the include, no log probabilities are returned.
  return others === 0 && !included ? { written: { plain: { top_logprobs: 0 } } } : { logprobs: others }
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

const VERBOSITIES = ["low", "medium", "high"] as const

function decodeText(fields: FieldReader): { format?: OutputFormat; verbosity?: ChatSettings["verbosity"] } | undefined {
  return fields.within("text", (textFields) => {
    const format = textFields.within("format", decodeFormat)
    const verbosity = textFields.take("verbosity", (value) => VERBOSITIES.find((word) => word === value))
    return { ...(format && { format }), ...(verbosity && { verbosity }) }
  })
}

function decodeFormat(fields: FieldReader): OutputFormat | undefined {
  const type = fields.take("type", text)
  if (type === "text") return { kind: "text" }
  if (type === "json_object") return { kind: "json" }
  if (type !== "json_schema") return undefined
  const name = fields.take("name", text)
  const schema = fields.take("schema", object)
  const strict = fields.take("strict", flag)
  if (!schema) return undefined
  return { kind: "schema", ...(name !== undefined && { name }), schema, ...(strict !== undefined && { strict }) }
}

const EFFORTS: ReadonlyMap<Json, ReasoningEffort> = new Map(EFFORT_BUDGETS.map(([effort]) => [effort, effort]))
const SUMMARIES = ["auto", "concise", "detailed"] as const

function decodeReasoning(fields: FieldReader): { readonly reasoning: ReasoningSettings; readonly summary?: string } {
  const effort = fields.take("effort", (value) => EFFORTS.get(value))
  const summary = fields.take("summary", (value) => SUMMARIES.find((word) => word === value))
  const reasoning: ReasoningSettings = { ...(effort && { effort }), ...(summary && { show: "summary" }) }
  return { reasoning, ...(summary && { summary }) }
}
