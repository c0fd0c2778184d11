// Anthropic's Messages at the upstream's end.
import {
  type AnswerPart,
  cacheWriteOf,
  type FinishKind,
  inPieces,
  type JsonObject,
  type MatrixJson,
  type MediaFile,
  OUTPUT_TOKENS,
  type ReceivedConversation,
  type ReceivedPart,
  type RemoteCall,
  type ScriptedAnswer,
  USAGE,
} from "../conversation.ts"
import { given, list, members, numberOrNone, text, textOrNone, type WireMembers } from "../wire.ts"
import { AnswerRecorder, type EncodedAnswer, joined, type UpstreamFormat } from "./upstream-format.ts"

export const anthropicMessagesFormat: UpstreamFormat = {
  protocol: "anthropic-messages",
  contentType: "text/event-stream; charset=utf-8",
  addressed(path, { model, stream }) {
    return path === "/v1/messages" ? { model: text(model), stream: stream === true } : undefined
  },
  parseRequest,
  whole,
  stream,
  errorEvent: event("error", { error: { type: "overloaded_error", message: "Overloaded" } }),
}

const WORDS: Readonly<Record<FinishKind, string>> = {
  stop: "end_turn",
  "stop-sequence": "stop_sequence",
  length: "max_tokens",
  "tool-calls": "tool_use",
  refusal: "refusal",
}

function usageOf(answer: ScriptedAnswer): JsonObject {
  return {
    input_tokens: USAGE.fresh,
    cache_creation_input_tokens: cacheWriteOf(answer),
    cache_read_input_tokens: USAGE.cacheRead,
    output_tokens: OUTPUT_TOKENS,
    output_tokens_details: { thinking_tokens: USAGE.reasoning },
  }
}

function whole(answer: ScriptedAnswer): JsonObject {
  const { parts, finish, stopSequence } = answer
  return {
    id: "msg_01AbCdEfGhIjKlMnOpQrStUv",
    type: "message",
    role: "assistant",
    model: "upstream-model-20260101",
    content: parts.flatMap(blocksOf),
    stop_reason: WORDS[finish],
    stop_sequence: stopSequence ?? null,
    usage: usageOf(answer),
  }
}

/** A refusal is a finish reason here, not text. */
function blocksOf(part: AnswerPart): JsonObject[] {
  if ("text" in part) return [{ type: "text", text: part.text }]
  if ("reasoning" in part) return [{ type: "thinking", thinking: part.reasoning, signature: part.seal }]
  if ("refusal" in part) return []
  if ("remote" in part) return remoteBlocks(part.remote)
  const { id, name, arguments: input } = part.call
  return [{ type: "tool_use", id, name, input }]
}

function remoteBlocks({ server, name, arguments: input, output }: RemoteCall): JsonObject[] {
  const id = "mcptoolu_01AbCdEfGh"
  return [
    { type: "mcp_tool_use", id, name, server_name: server, input },
    { type: "mcp_tool_result", tool_use_id: id, is_error: false, content: [{ type: "text", text: output }] },
  ]
}

function event(type: string, more: JsonObject = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
}

function stream(answer: ScriptedAnswer): EncodedAnswer {
  const speech = new AnswerRecorder()
  const { output_tokens_details: _, ...early } = usageOf(answer)
  const message = {
    ...whole({ ...answer, parts: [] }),
    stop_reason: null,
    stop_sequence: null,
    usage: { ...early, output_tokens: 1 },
  }
  speech.add(event("message_start", { message }))
  speech.add(event("ping"))
  const blocks = answer.parts.flatMap((part) => blocksOf(part).map((block) => ({ part, block })))
  for (const [index, { part, block }] of blocks.entries()) {
    const start = { ...block, ...emptied(block) }
    speech.add(event("content_block_start", { index, content_block: start }))
    for (const delta of deltasOf(part, block)) speech.addPiece(event("content_block_delta", { index, delta }))
    speech.add(event("content_block_stop", { index }))
  }
  const delta = { stop_reason: WORDS[answer.finish], stop_sequence: answer.stopSequence ?? null }
  speech.add(event("message_delta", { delta, usage: usageOf(answer) }))
  speech.add(event("message_stop"))
  return speech
}

function emptied({ type }: JsonObject): JsonObject {
  if (type === "text") return { text: "" }
  if (type === "mcp_tool_result") return {}
  return type === "thinking" ? { thinking: "", signature: "" } : { input: {} }
}

function deltasOf(part: AnswerPart, { type }: JsonObject): JsonObject[] {
  if ("remote" in part && type === "mcp_tool_result") return []
  if ("text" in part) return inPieces(part.text).map((piece) => ({ type: "text_delta", text: piece }))
  if ("call" in part || "remote" in part) {
    const { arguments: input } = "call" in part ? part.call : part.remote
    const pieces = ["", ...inPieces(JSON.stringify(input))]
    return pieces.map((piece) => ({ type: "input_json_delta", partial_json: piece }))
  }
  if ("refusal" in part) return []
  const thoughts = inPieces(part.reasoning).map((piece) => ({ type: "thinking_delta", thinking: piece }))
  return [...thoughts, { type: "signature_delta", signature: part.seal }]
}

function parseRequest(
  body: WireMembers,
  { model, stream: streams }: { model: string; stream: boolean },
): ReceivedConversation {
  const system = typeof body.system === "string" ? [{ text: body.system }] : list(body.system).map(members)
  const messages = list(body.messages).map(members)
  const output = members(body.output_config)
  const choice = members(body.tool_choice)
  const blocks = [...system, ...messages.flatMap(({ content }) => list(content).map(members))]
  return {
    model,
    stream: streams,
    instructions: system.map((block) => text(block.text)).join("\n\n"),
    turns: joined(
      messages.map(({ role, content }) => ({
        by: role === "assistant" ? "assistant" : "user",
        parts: typeof content === "string" ? [{ kind: "text", text: content }] : list(content).map(partOf),
      })),
    ),
    tools: list(body.tools).map((tool) => {
      const { name, description, input_schema } = members(tool)
      return { name: text(name), description: text(description), schema: (input_schema ?? null) as MatrixJson }
    }),
    choice: choice.type === "tool" ? { tool: text(choice.name) } : wordOf(choice.type),
    stop: list(body.stop_sequences).map(text),
    marked: blocks.filter((block) => "cache_control" in block).map((block) => text(block.text)),
    ...given({
      schema: members(output.format).schema as MatrixJson | undefined,
      maxOutputTokens: numberOrNone(body.max_tokens),
      effort: textOrNone(output.effort),
      budgetTokens: numberOrNone(members(body.thinking).budget_tokens),
    }),
    servers: list(body.mcp_servers).map((server) => {
      const { name, url, authorization_token, tool_configuration } = members(server)
      const allowed = list(members(tool_configuration).allowed_tools).map(text)
      return { label: text(name), url: text(url), token: text(authorization_token), allowed }
    }),
  }
}

function wordOf(type: unknown): "auto" | "none" | "any" {
  return type === "any" || type === "none" ? type : "auto"
}

function partOf(value: unknown): ReceivedPart {
  const part = members(value)
  if (part.type === "text") return { kind: "text", text: text(part.text) }
  if (part.type === "image") return { kind: "image", media: sourceOf(part) }
  if (part.type === "document") return { kind: "document", media: sourceOf(part) }
  if (part.type === "thinking") return { kind: "reasoning", text: text(part.thinking), seal: text(part.signature) }
  if (part.type === "tool_use") {
    return { kind: "call", call: { id: text(part.id), name: text(part.name), arguments: part.input as MatrixJson } }
  }
  if (part.type === "search_result") {
    const texts = list(part.content).map((block) => text(members(block).text))
    return { kind: "passage", title: text(part.title), source: text(part.source), text: texts.join("\n") }
  }
  if (part.type !== "tool_result") return { kind: "unknown", value }
  const content =
    typeof part.content === "string" ? [{ type: "text", text: part.content }] : list(part.content).map(members)
  return {
    kind: "result",
    callId: text(part.tool_use_id),
    text: content.map((block) => text(block.text)).join(""),
    images: content.filter(({ type }) => type === "image").map(sourceOf),
    failed: part.is_error === true,
  }
}

function sourceOf({ source }: WireMembers): MediaFile {
  const { media_type, data } = members(source)
  return { mediaType: text(media_type), base64: text(data) }
}
