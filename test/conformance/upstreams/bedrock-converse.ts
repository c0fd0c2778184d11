// Bedrock's Converse at the upstream's end. Its streams are in AWS's own frames.
import { encodeEventMessage } from "../../../src/transport/streams/aws-event-stream.fixture.ts"
import { framedException } from "../../providers/aws.ts"
import {
  type AnswerPart,
  cacheWriteOf,
  type FinishKind,
  inPieces,
  inputOf,
  type JsonObject,
  type MatrixJson,
  type MediaFile,
  OUTPUT_TOKENS,
  type ReceivedConversation,
  type ReceivedPart,
  type ScriptedAnswer,
  USAGE,
  unspeakable,
} from "../conversation.ts"
import { given, list, members, numberOrNone, parsed, text, textOrNone, type WireMembers } from "../wire.ts"
import {
  AnswerRecorder,
  type EncodedAnswer,
  joined,
  type RequestTarget,
  type UpstreamFormat,
} from "./upstream-format.ts"

export const bedrockConverseFormat: UpstreamFormat = {
  protocol: "bedrock-converse",
  contentType: "application/vnd.amazon.eventstream",
  addressed(path): RequestTarget | undefined {
    const match = /^\/model\/([^/]+)\/(converse|converse-stream)$/.exec(path)
    return match ? { model: decodeURIComponent(match[1] ?? ""), stream: match[2] === "converse-stream" } : undefined
  },
  parseRequest,
  whole,
  stream,
  errorEvent: framedException("modelStreamErrorException", "The model stopped."),
}

const WORDS: Readonly<Record<FinishKind, string>> = {
  stop: "end_turn",
  "stop-sequence": "stop_sequence",
  length: "max_tokens",
  "tool-calls": "tool_use",
  refusal: "content_filtered",
}

function usageOf(answer: ScriptedAnswer): JsonObject {
  return {
    inputTokens: USAGE.fresh,
    outputTokens: OUTPUT_TOKENS,
    totalTokens: inputOf(answer) + OUTPUT_TOKENS,
    cacheReadInputTokens: USAGE.cacheRead,
    cacheWriteInputTokens: cacheWriteOf(answer),
  }
}

function whole(answer: ScriptedAnswer, body: WireMembers): JsonObject {
  const { parts, finish, stopSequence = null } = answer
  return {
    output: { message: { role: "assistant", content: parts.flatMap(blocksOf) } },
    stopReason: WORDS[finish],
    usage: usageOf(answer),
    metrics: { latencyMs: 123 },
    ...(asksFor(body, "/stop_sequence") && { additionalModelResponseFields: { stop_sequence: stopSequence } }),
  }
}

/** Fields that only some models report, on request. */
function asksFor(body: WireMembers, path: string): boolean {
  return list(body.additionalModelResponseFieldPaths).includes(path)
}

function blocksOf(part: AnswerPart): JsonObject[] {
  if ("text" in part) return [{ text: part.text }]
  if ("reasoning" in part) {
    return [{ reasoningContent: { reasoningText: { text: part.reasoning, signature: part.seal } } }]
  }
  if ("refusal" in part) return []
  if ("remote" in part) return unspeakable(part)
  const { id, name, arguments: input } = part.call
  return [{ toolUse: { toolUseId: id, name, input } }]
}

/** One event, padded as Bedrock pads. */
function frame(type: string, payload: JsonObject): Uint8Array {
  const headers = { ":event-type": type, ":content-type": "application/json", ":message-type": "event" }
  return encodeEventMessage(headers, JSON.stringify({ ...payload, p: "abcdefghijk" }))
}

function stream(answer: ScriptedAnswer, body: WireMembers): EncodedAnswer {
  const { parts, finish, stopSequence = null } = answer
  const speech = new AnswerRecorder()
  speech.add(frame("messageStart", { role: "assistant" }))
  for (const [contentBlockIndex, part] of parts.filter((each) => !("refusal" in each)).entries()) {
    // Only calls are announced: texts and thoughts begin with their first piece.
    if ("call" in part) {
      const { id, name } = part.call
      speech.add(frame("contentBlockStart", { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } }))
    }
    for (const delta of deltasOf(part)) speech.addPiece(frame("contentBlockDelta", { contentBlockIndex, delta }))
    speech.add(frame("contentBlockStop", { contentBlockIndex }))
  }
  const fields = { delta: { stop_sequence: stopSequence } }
  const requested = asksFor(body, "/delta/stop_sequence") ? { additionalModelResponseFields: fields } : {}
  speech.add(frame("messageStop", { stopReason: WORDS[finish], ...requested }))
  speech.add(frame("metadata", { usage: usageOf(answer), metrics: { latencyMs: 123 } }))
  return speech
}

function deltasOf(part: AnswerPart): JsonObject[] {
  if ("text" in part) return inPieces(part.text).map((piece) => ({ text: piece }))
  if ("call" in part) {
    return inPieces(JSON.stringify(part.call.arguments)).map((piece) => ({ toolUse: { input: piece } }))
  }
  if ("refusal" in part) return []
  if ("remote" in part) return unspeakable(part)
  const thoughts = inPieces(part.reasoning).map((piece) => ({ reasoningContent: { text: piece } }))
  return [...thoughts, { reasoningContent: { signature: part.seal } }]
}

function parseRequest(body: WireMembers, { model, stream: streams }: RequestTarget): ReceivedConversation {
  const inference = members(body.inferenceConfig)
  const more = members(body.additionalModelRequestFields)
  const format = members(members(members(members(body.outputConfig).textFormat).structure).jsonSchema)
  const system = list(body.system).map(members)
  const messages = list(body.messages).map(members)
  const { tools, toolChoice } = members(body.toolConfig)
  return {
    model,
    stream: streams,
    instructions: system.flatMap((block) => textOrNone(block.text) ?? []).join("\n\n"),
    turns: joined(
      messages.map(({ role, content }) => ({
        by: role === "assistant" ? "assistant" : "user",
        parts: list(content)
          .map(members)
          .filter((block) => !("cachePoint" in block))
          .map(partOf),
      })),
    ),
    tools: list(tools).flatMap((tool) => {
      const { toolSpec } = members(tool)
      const { name, description, inputSchema } = members(toolSpec)
      const schema = (members(inputSchema).json ?? null) as MatrixJson
      return toolSpec === undefined ? [] : [{ name: text(name), description: text(description), schema }]
    }),
    choice: choiceOf(members(toolChoice)),
    stop: list(inference.stopSequences).map(text),
    marked: [system, ...messages.map(({ content }) => list(content).map(members))].flatMap(markedIn),
    ...given({
      schema: format.schema === undefined ? undefined : (parsed(text(format.schema)) as MatrixJson),
      maxOutputTokens: numberOrNone(inference.maxTokens),
      effort: textOrNone(members(more.output_config).effort),
      budgetTokens: numberOrNone(members(more.thinking).budget_tokens),
    }),
  }
}

function markedIn(blocks: readonly WireMembers[]): string[] {
  return blocks.flatMap((block, index) => ("cachePoint" in block ? [text(blocks[index - 1]?.text)] : []))
}

function choiceOf(choice: WireMembers): ReceivedConversation["choice"] {
  if ("tool" in choice) return { tool: text(members(choice.tool).name) }
  return "any" in choice ? "any" : "auto"
}

function partOf(part: WireMembers): ReceivedPart {
  const { image, document, toolUse, toolResult, reasoningContent } = part
  if (typeof part.text === "string") return { kind: "text", text: part.text }
  if (image) return { kind: "image", media: mediaOf(members(image), "image") }
  if (document) return { kind: "document", media: mediaOf(members(document), "application") }
  if (reasoningContent) {
    const { text: thought, signature } = members(members(reasoningContent).reasoningText)
    return { kind: "reasoning", text: text(thought), ...given({ seal: textOrNone(signature) }) }
  }
  if (toolUse) {
    const { toolUseId, name, input } = members(toolUse)
    return { kind: "call", call: { id: text(toolUseId), name: text(name), arguments: input as MatrixJson } }
  }
  return toolResult ? resultOf(members(toolResult)) : { kind: "unknown", value: part }
}

function resultOf({ toolUseId, content, status }: WireMembers): ReceivedPart {
  const blocks = list(content).map(members)
  const texts = blocks.map((block) => ("json" in block ? JSON.stringify(block.json) : text(block.text)))
  const images = blocks.flatMap(({ image }) => (image ? [mediaOf(members(image), "image")] : []))
  return { kind: "result", callId: text(toolUseId), text: texts.join(""), images, failed: status === "error" }
}

function mediaOf({ format, source }: WireMembers, type: string): MediaFile {
  return { mediaType: `${type}/${text(format)}`, base64: text(members(source).bytes) }
}
