// Chat completions at the upstream's end.
import {
  type FinishKind,
  inPieces,
  inputOf,
  type JsonObject,
  type MatrixJson,
  type MatrixTool,
  OUTPUT_TOKENS,
  type ReceivedConversation,
  type ReceivedPart,
  type ReceivedTurn,
  type ScriptedAnswer,
  USAGE,
  unspeakable,
} from "../conversation.ts"
import { dataIn, given, list, members, numberOrNone, parsed, text, textOrNone, type WireMembers } from "../wire.ts"
import { AnswerRecorder, type EncodedAnswer, joined, type UpstreamFormat } from "./upstream-format.ts"

export const openaiChatFormat: UpstreamFormat = {
  protocol: "openai-chat",
  contentType: "text/event-stream",
  addressed(path, { model, stream }) {
    return path === "/v1/chat/completions" ? { model: text(model), stream: stream === true } : undefined
  },
  parseRequest,
  whole,
  stream,
  errorEvent: event({
    error: { message: "The server had an error.", type: "server_error", param: null, code: null },
  }),
}

const HEAD = { id: "chatcmpl-AbC123", created: 1_760_000_000, model: "upstream-model-2026-01-01" }

function usageOf(answer: ScriptedAnswer): JsonObject {
  return {
    prompt_tokens: inputOf(answer),
    completion_tokens: OUTPUT_TOKENS,
    total_tokens: inputOf(answer) + OUTPUT_TOKENS,
    prompt_tokens_details: { cached_tokens: USAGE.cacheRead, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: USAGE.reasoning, audio_tokens: 0 },
  }
}

const WORDS: Readonly<Record<FinishKind, string>> = {
  stop: "stop",
  "stop-sequence": "stop",
  length: "length",
  "tool-calls": "tool_calls",
  refusal: "content_filter",
}

/** A refusal in words is a normal end in this protocol. */
function finishWord({ finish, parts }: ScriptedAnswer): string {
  return parts.some((part) => "refusal" in part) ? "stop" : WORDS[finish]
}

function whole(answer: ScriptedAnswer): JsonObject {
  const { parts } = answer
  const thoughts = parts.flatMap((part) => ("reasoning" in part ? [part.reasoning] : []))
  const texts = parts.flatMap((part) => ("text" in part ? [part.text] : []))
  const refusals = parts.flatMap((part) => ("refusal" in part ? [part.refusal] : []))
  const calls = parts.flatMap((part) => ("call" in part ? [part.call] : []))
  const message = {
    role: "assistant",
    content: texts.length > 0 ? texts.join("") : null,
    refusal: refusals.length > 0 ? refusals.join("") : null,
    annotations: [],
    ...(thoughts.length > 0 && { reasoning_content: thoughts.join("") }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, arguments: input }) => ({
        id,
        type: "function",
        function: { name, arguments: JSON.stringify(input) },
      })),
    }),
  }
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finishWord(answer) }]
  return { ...HEAD, object: "chat.completion", choices, usage: usageOf(answer) }
}

function event(value: JsonObject): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

function stream(answer: ScriptedAnswer, body: WireMembers): EncodedAnswer {
  const includesUsage = members(body.stream_options).include_usage === true
  const chunk = (choices: readonly MatrixJson[], usage: MatrixJson = null) =>
    event({ ...HEAD, object: "chat.completion.chunk", choices, ...(includesUsage && { usage }) })
  const delta = (value: JsonObject, finish: string | null = null) =>
    chunk([{ index: 0, delta: value, logprobs: null, finish_reason: finish }])
  const speech = new AnswerRecorder()
  speech.add(delta({ role: "assistant", content: "", refusal: null }))
  let index = 0
  for (const part of answer.parts) {
    if ("call" in part) {
      const { id, name, arguments: input } = part.call
      speech.addPiece(delta({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }))
      for (const piece of inPieces(JSON.stringify(input))) {
        speech.addPiece(delta({ tool_calls: [{ index, function: { arguments: piece } }] }))
      }
      index++
    } else if ("reasoning" in part) {
      for (const piece of inPieces(part.reasoning)) speech.addPiece(delta({ reasoning_content: piece }))
    } else if ("remote" in part) unspeakable(part)
    else {
      const [member, content] = "text" in part ? ["content", part.text] : ["refusal", part.refusal]
      for (const piece of inPieces(content as string)) speech.addPiece(delta({ [member as string]: piece }))
    }
  }
  speech.add(delta({}, finishWord(answer)))
  if (includesUsage) speech.add(chunk([], usageOf(answer)))
  speech.add("data: [DONE]\n\n")
  return speech
}

function parseRequest(
  body: WireMembers,
  { model, stream: streams }: { model: string; stream: boolean },
): ReceivedConversation {
  const messages = list(body.messages).map(members)
  const instructs = ({ role }: WireMembers) => role === "system" || role === "developer"
  const format = members(members(body.response_format).json_schema)
  return {
    model,
    stream: streams,
    instructions: messages
      .filter(instructs)
      .map(({ content }) => textIn(content))
      .join("\n\n"),
    turns: joined(messages.filter((message) => !instructs(message)).map(turnOf)),
    tools: list(body.tools).map((tool) => toolOf(members(members(tool).function))),
    choice: choiceOf(body.tool_choice),
    stop: typeof body.stop === "string" ? [body.stop] : list(body.stop).map(text),
    marked: messages.flatMap(({ content }) =>
      list(content).flatMap((part) => ("cache_control" in members(part) ? [text(members(part).text)] : [])),
    ),
    ...given({
      schema: format.schema as MatrixJson | undefined,
      maxOutputTokens: numberOrNone(body.max_completion_tokens) ?? numberOrNone(body.max_tokens),
      effort: textOrNone(body.reasoning_effort),
      cacheKey: textOrNone(body.prompt_cache_key),
    }),
  }
}

function textIn(content: unknown): string {
  return typeof content === "string"
    ? content
    : list(content)
        .map((part) => text(members(part).text))
        .join("")
}

function turnOf(message: WireMembers): ReceivedTurn {
  const { role, content } = message
  const parts =
    typeof content === "string" && content !== ""
      ? [{ kind: "text" as const, text: content }]
      : list(content).map(partOf)
  if (role === "tool") {
    const images = parts.flatMap((part) => (part.kind === "image" ? [part.media] : []))
    const result: ReceivedPart = {
      kind: "result",
      callId: text(message.tool_call_id),
      text: textIn(content),
      images,
      failed: false,
    }
    return { by: "user", parts: [result] }
  }
  if (role !== "assistant") return { by: "user", parts }
  const thought = text(message.reasoning_content)
  const calls = list(message.tool_calls).map((call): ReceivedPart => {
    const { name, arguments: input } = members(members(call).function)
    return {
      kind: "call",
      call: { id: text(members(call).id), name: text(name), arguments: parsed(text(input)) as MatrixJson },
    }
  })
  return {
    by: "assistant",
    parts: [...(thought === "" ? [] : [{ kind: "reasoning" as const, text: thought }]), ...parts, ...calls],
  }
}

function partOf(value: unknown): ReceivedPart {
  const part = members(value)
  if (part.type === "text") return { kind: "text", text: text(part.text) }
  if (part.type === "image_url") return { kind: "image", media: dataIn(text(members(part.image_url).url)) }
  if (part.type === "file") return { kind: "document", media: dataIn(text(members(part.file).file_data)) }
  return { kind: "unknown", value }
}

function toolOf({ name, description, parameters }: WireMembers): MatrixTool {
  return { name: text(name), description: text(description), schema: (parameters ?? null) as MatrixJson }
}

function choiceOf(choice: unknown): ReceivedConversation["choice"] {
  if (choice === "none") return "none"
  if (choice === "required") return "any"
  const { name } = members(members(choice).function)
  return name === undefined ? "auto" : { tool: text(name) }
}
