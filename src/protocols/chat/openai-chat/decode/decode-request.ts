// Decodes a chat completions request. Its `extra` is always present, if empty: it names the protocol of the request.

import type { ChatRequest } from "../../../../canonical/chat/chat-request.ts"
import type { Json, JsonObject } from "../../../../canonical/json.ts"
import { runFieldChecks } from "../../../../canonical/schema/field-mismatch.ts"
import { takeRouting } from "../../../gateway-extension.ts"
import { FieldReader, flag, list, text } from "../../../openai/field-reader.ts"
import { type ChatWriting, PROTOCOL } from "../passthrough-fields.ts"
import { decodeMessages } from "./decode-messages.ts"
import { decodeSettings } from "./decode-settings.ts"
import { decodeFunctionChoice, decodeFunctions, decodeToolChoice, decodeTools, searchTool } from "./decode-tools.ts"

export function decodeRequest(body: JsonObject): ChatRequest {
  const fields = new FieldReader(body)
  const model = fields.take("model", text) ?? ""
  const { instructions, turns } = decodeMessages(fields.take("messages", list) as Json | undefined)
  const { settings, written } = decodeSettings(fields)
  const { tools, toolChoice, legacy } = readTools(fields)
  const stream = fields.take("stream", flag)
  const usageRequested = readIncludeUsage(fields)
  const routing = runFieldChecks(() => takeRouting((name) => fields.take(name, (value) => value)))
  const how: ChatWriting = {
    ...written,
    ...(legacy && { legacy }),
    plain: {
      ...written.plain,
      ...(stream === false && { stream }),
      ...(Array.isArray(body.tools) && body.tools.length === 0 && { tools: [] }),
    },
    ...(usageRequested !== undefined && { usageRequested }),
  }
  return {
    model,
    instructions,
    turns,
    tools,
    ...(toolChoice && { toolChoice }),
    settings,
    stream: stream === true,
    routing,
    extra: Object.assign({ protocol: PROTOCOL, members: fields.rest() }, { written: how }),
  }
}

function readTools(fields: FieldReader): Pick<ChatRequest, "tools" | "toolChoice"> & { readonly legacy?: true } {
  const listed = fields.take("tools", list)
  const functions = listed ? undefined : fields.take("functions", decodeFunctions)
  const search = fields.take("web_search_options", searchTool)
  const toolChoice = functions
    ? fields.take("function_call", decodeFunctionChoice)
    : fields.take("tool_choice", decodeToolChoice)
  return {
    tools: [...(functions ?? decodeTools(listed as Json | undefined)), ...(search ? [search] : [])],
    ...(toolChoice && { toolChoice }),
    ...(functions && { legacy: true as const }),
  }
}

/** The gateway decides about usage inside a stream; other members of the object pass through. */
function readIncludeUsage(fields: FieldReader): boolean | undefined {
  return fields.within("stream_options", (options) => options.take("include_usage", flag))
}
