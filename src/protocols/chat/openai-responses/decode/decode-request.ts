// Decodes a responses request. Its `extra` is always present, if empty: it names the protocol of the request.

import type { ChatRequest } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import type { Json, JsonObject } from "../../../../canonical/json.ts"
import { runFieldChecks } from "../../../../canonical/schema/field-mismatch.ts"
import { takeRouting } from "../../../gateway-extension.ts"
import { FieldReader, flag, type JsonDraft, list, text } from "../../../openai/field-reader.ts"
import { PROTOCOL, type ResponsesWriting } from "../passthrough-fields.ts"
import { decodeInput } from "./decode-messages.ts"
import { decodeSettings } from "./decode-settings.ts"
import { decodeToolChoice, decodeTools } from "./decode-tools.ts"

export function decodeRequest(body: JsonObject): ChatRequest {
  const fields = new FieldReader(body)
  const model = fields.take("model", text) ?? ""
  const instructionText = fields.take("instructions", text)
  const input = fields.take("input", (value) => (typeof value === "string" ? value : list(value)))
  const { settings, written } = decodeSettings(fields)
  const tools = decodeTools(fields.take("tools", list))
  const toolChoice = fields.take("tool_choice", (choice) => decodeToolChoice(choice, tools))
  const stream = fields.take("stream", flag)
  const routing = runFieldChecks(() => takeRouting((name) => fields.take(name, (value) => value)))
  const { instructions, turns } = decodeInput(input)
  const topInstructions: ContentPart[] =
    instructionText === undefined ? [] : [{ kind: "text", at: "instructions", text: instructionText }]
  const how: ResponsesWriting = {
    ...written,
    ...(typeof input === "string" && { content: input === "" ? "empty" : "list" }),
    plain: {
      ...written.plain,
      ...(stream === false && { stream }),
      ...(Array.isArray(body.tools) && body.tools.length === 0 && { tools: [] }),
      ...quietMembers(fields),
    },
  }
  return {
    model,
    instructions: [...topInstructions, ...instructions],
    turns,
    tools,
    ...(toolChoice && { toolChoice }),
    settings,
    stream: stream === true,
    routing,
    extra: Object.assign({ protocol: PROTOCOL, members: fields.rest() }, { written: how }),
  }
}

/** Members with their default values. The gateway owns `store`. */
function quietMembers(fields: FieldReader): JsonObject {
  const quiet: JsonDraft = {}
  const usual: [string, (value: Json) => boolean][] = [
    ["truncation", (value) => value === "disabled"],
    ["service_tier", (value) => value === "auto" || value === "default"],
    ["background", (value) => value === false],
  ]
  for (const [name, isUsual] of usual) {
    const value = fields.take(name, (each) => (isUsual(each) ? each : undefined))
    if (value !== undefined) quiet[name] = value
  }
  fields.take("store", flag)
  return quiet
}
