// Decodes a messages request. Its `extra` is always present, if empty: it names the protocol of the request.

import type { ChatRequest } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import type { Json, JsonObject } from "../../../../canonical/json.ts"
import { claimFields } from "../../../../canonical/passthrough-fields.ts"
import { runFieldChecks } from "../../../../canonical/schema/field-mismatch.ts"
import { takeRouting } from "../../../gateway-extension.ts"
import { type AnthropicPassthrough, PROTOCOL } from "../passthrough-fields.ts"
import { decodeServers } from "../remote-servers.ts"
import { decodeMessages } from "./decode-messages.ts"
import { decodeBlock } from "./decode-part.ts"
import { decodeSettings } from "./decode-settings.ts"
import { decodeToolChoice, decodeTools } from "./decode-tools.ts"

export function decodeRequest(body: JsonObject): ChatRequest {
  const held = claimFields(body)
  /** The rest of members that were claimed in part. */
  const left: Record<string, Json> = {}
  const model = held.take("model")
  const instructions = decodeInstructions(body.system)
  if (instructions) held.take("system")
  const choice = decodeToolChoice(body.tool_choice)
  if (choice || body.tool_choice === null) held.take("tool_choice")
  if (choice?.left) left.tool_choice = choice.left
  const settings = {
    ...decodeSettings(body, { held, left }),
    ...(choice?.parallelToolCalls !== undefined && { parallelToolCalls: choice.parallelToolCalls }),
  }
  const servers = decodeServers(body.mcp_servers)
  if (servers) held.take("mcp_servers")
  const request = {
    model: typeof model === "string" ? model : "",
    instructions: instructions ?? [],
    turns: decodeMessages(held.take("messages")),
    tools: decodeTools(held.take("tools"), servers),
    ...(choice?.toolChoice && { toolChoice: choice.toolChoice }),
    settings,
    stream: held.take("stream") === true,
    routing: runFieldChecks(() => takeRouting((name) => held.take(name))),
  }
  const members = { ...held.rest(PROTOCOL)?.members, ...left }
  const extra: AnthropicPassthrough = {
    protocol: PROTOCOL,
    members,
    ...(servers && { servers: body.mcp_servers ?? null }),
  }
  return { ...request, extra }
}

function decodeInstructions(system: Json | undefined): ContentPart[] | undefined {
  if (system === null) return []
  if (typeof system === "string") return [{ kind: "text", at: "system", text: system }]
  if (!Array.isArray(system)) return undefined
  return system.map((block: Json, index) => decodeBlock(block, { at: `system[${index}]` }))
}
