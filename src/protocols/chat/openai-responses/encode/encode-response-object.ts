// Builds the response object: the request's settings, and the state of the response.

import type { CandidateFinish } from "../../../../canonical/chat/chat-response.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { Usage } from "../../../../canonical/usage.ts"
import type { ClientResponseContext } from "../../../chat-codec.ts"
import { freshResponse } from "../errors.ts"
import { encodeFinish } from "../finish-reasons.ts"
import { isOwn, writingOf } from "../passthrough-fields.ts"
import { isStored, storageMembers } from "../response-storage.ts"
import { encodeUsage } from "../usage.ts"
import { ownTools } from "./encode-tools.ts"

/** A response object without output. */
export function openResponse(context: ClientResponseContext, createdAt = context.unixTime): JsonObject {
  const { request, model, id, storage } = context
  const { settings } = request
  const { tools = [], tool_choice = "auto" } = ownTools(request)
  const members = isOwn(request.extra) ? request.extra.members : {}
  return {
    ...freshResponse(`resp_${id}`, model, createdAt),
    max_output_tokens: settings.maxOutputTokens ?? null,
    max_tool_calls: members.max_tool_calls ?? null,
    parallel_tool_calls: settings.parallelToolCalls ?? true,
    reasoning: { effort: settings.reasoning?.effort ?? null, summary: writingOf(request.extra).summary ?? null },
    temperature: settings.temperature ?? 1,
    text: {
      format: formatOf(context, members["text.format.description"]),
      ...(settings.verbosity && { verbosity: settings.verbosity }),
    },
    tool_choice,
    tools: Array.isArray(tools) ? tools.map(withToolDefaults) : [],
    top_p: settings.topP ?? 1,
    top_logprobs: settings.logprobs ?? 0,
    presence_penalty: settings.presencePenalty ?? 0,
    frequency_penalty: settings.frequencyPenalty ?? 0,
    truncation: members.truncation ?? "disabled",
    metadata: isObject(members.metadata) ? members.metadata : {},
    safety_identifier: settings.endUser ?? null,
    prompt_cache_key: settings.cacheKey ?? null,
    ...storageMembers(storage),
  }
}

function formatOf({ request: { settings } }: ClientResponseContext, description: Json = null): Json {
  const { format } = settings
  if (format?.kind === "json") return { type: "json_object" }
  if (format?.kind !== "schema") return { type: "text" }
  const { name = "answer", schema, strict = false } = format
  return { type: "json_schema", name, description, schema, strict }
}

/** Adds the vendor's defaults to a function. */
function withToolDefaults(tool: Json): Json {
  if (!isObject(tool)) return tool
  if (tool.type === "namespace")
    return { ...tool, tools: Array.isArray(tool.tools) ? tool.tools.map(withToolDefaults) : [] }
  return tool.type === "function" ? { description: null, parameters: null, strict: true, ...tool } : tool
}

interface ResponseEnding {
  readonly finish: CandidateFinish | undefined
  readonly refused: boolean
  readonly output: readonly JsonObject[]
  readonly usage: Usage | undefined
}

/** The complete response. */
export function endResponse(opened: JsonObject, ending: ResponseEnding, context: ClientResponseContext): JsonObject {
  const reason = encodeFinish(ending.finish, ending.refused)
  return {
    ...opened,
    completed_at: reason === undefined ? context.unixTime : null,
    status: reason === undefined ? "completed" : "incomplete",
    incomplete_details: reason === undefined ? null : { reason },
    output: ending.output,
    ...(context.storage?.store && { store: isStored(context.storage, JSON.stringify(ending.output).length) }),
    usage: ending.usage ? encodeUsage(ending.usage) : null,
  }
}
