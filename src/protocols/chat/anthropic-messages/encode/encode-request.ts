// Encodes a messages request. Messages come last, so that a conversation only appends bytes to the previous request.

import type { ChatRequest, ConversationTurn } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import { limitCacheMarks } from "../../limit-cache-marks.ts"
import { isOwn, ownMembers } from "../passthrough-fields.ts"
import { withoutServers } from "../remote-servers.ts"
import type { AnthropicEncodeContext } from "./encode-context.ts"
import { encodeMessages } from "./encode-messages.ts"
import { encodeParts, loneText } from "./encode-part.ts"
import { encodeSettings } from "./encode-settings.ts"
import { encodeTools } from "./encode-tools.ts"

export function encodeRequest(original: ChatRequest, context: UpstreamRequestContext): JsonObject {
  const encodeContext: AnthropicEncodeContext = { ...context, own: isOwn(original.extra) }
  const supported = context.lacksRemoteServers ? withoutServers(original, context.losses) : original
  const request = encodeContext.own ? supported : limitCacheMarks(supported, context.losses)
  const { instructions, turns } = encodeContext.own ? request : withLeadingInstructions(request, encodeContext)
  const { members, instruction } = encodeSettings(request, encodeContext)
  const system = encodeSystem(instructions, { instruction, encodeContext })
  const body = {
    model: context.model,
    ...encodeTools(request, encodeContext),
    ...(system !== undefined && { system }),
    ...members,
    ...(context.stream && { stream: true }),
  }
  const messages = encodeMessages(turns, encodeContext)
  const rest = ownMembers(request.extra, { at: "", losses: context.losses })
  return { ...withRest(body, rest), ...ownServers(request), messages }
}

function ownServers({ extra }: ChatRequest): JsonObject {
  return isOwn(extra) && extra.servers !== undefined ? { mcp_servers: extra.servers } : {}
}

/** Instructions before the first turn apply to the whole conversation. */
type ConversationPrompt = Pick<ChatRequest, "instructions" | "turns">

function withLeadingInstructions(
  { instructions, turns }: ConversationPrompt,
  { losses }: AnthropicEncodeContext,
): ConversationPrompt {
  const first = turns.findIndex(({ role }) => role !== "instruction")
  if (first === 0) return { instructions, turns }
  const leading: readonly ConversationTurn[] = first < 0 ? turns : turns.slice(0, first)
  for (const { at = "", extra } of leading) ownMembers(extra, { at, losses })
  return {
    instructions: [...instructions, ...leading.flatMap(({ parts }) => parts)],
    turns: turns.slice(leading.length),
  }
}

interface SystemPromptContext {
  readonly instruction: string | undefined
  readonly encodeContext: AnthropicEncodeContext
}

function encodeSystem(
  parts: readonly ContentPart[],
  { instruction, encodeContext }: SystemPromptContext,
): Json | undefined {
  const lone = instruction === undefined ? loneText(parts) : undefined
  if (lone !== undefined && (encodeContext.own || lone.trim() !== "")) return lone
  const blocks = encodeParts(parts, { place: "system", encodeContext })
  if (instruction !== undefined) blocks.push({ type: "text", text: instruction })
  return blocks.length > 0 ? blocks : undefined
}

/** Puts back members without a canonical counterpart, also inside objects that were read in part. */
function withRest(body: JsonObject, rest: JsonObject): JsonObject {
  const known = rest.output_format === undefined ? body : withoutFormat(body)
  const merged = Object.entries(rest).map(([name, value]) => {
    const read = known[name]
    return [name, isObject(read) && isObject(value) ? { ...read, ...value } : value] as const
  })
  return { ...known, ...Object.fromEntries<Json>(merged) }
}

/** The older spelling of the format was decoded, and returns unchanged. */
function withoutFormat({ output_config, ...body }: JsonObject): JsonObject {
  const { format: _, ...config } = isObject(output_config) ? output_config : {}
  return Object.keys(config).length > 0 ? { ...body, output_config: config } : body
}
