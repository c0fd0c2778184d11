// Google's generateContent at the upstream's end.
import {
  type FinishKind,
  inPieces,
  inputOf,
  type JsonObject,
  type MatrixJson,
  type MatrixToolCall,
  type MediaFile,
  OUTPUT_TOKENS,
  type ReceivedConversation,
  type ReceivedPart,
  type ScriptedAnswer,
  UNSEEN_SEAL,
  USAGE,
  unspeakable,
} from "../conversation.ts"
import { given, list, members, numberOrNone, text, textOrNone, type WireMembers } from "../wire.ts"
import {
  AnswerRecorder,
  type EncodedAnswer,
  joined,
  type RequestTarget,
  type UpstreamFormat,
} from "./upstream-format.ts"

export const geminiGenerateFormat: UpstreamFormat = {
  protocol: "gemini-generate",
  contentType: "text/event-stream",
  addressed(path): RequestTarget | undefined {
    const match = /^\/v1beta\/models\/([^:?]+):(generateContent|streamGenerateContent\?alt=sse)$/.exec(path)
    return match ? { model: match[1] ?? "", stream: match[2] !== "generateContent" } : undefined
  },
  parseRequest,
  whole,
  stream,
  errorEvent: event({ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }),
}

/** Calls end an answer like any other; what was refused bears the vendor's reason. */
const WORDS: Readonly<Record<FinishKind, string>> = {
  stop: "STOP",
  "stop-sequence": "STOP",
  length: "MAX_TOKENS",
  "tool-calls": "STOP",
  refusal: "SAFETY",
}

function usageOf(answer: ScriptedAnswer): JsonObject {
  return {
    promptTokenCount: inputOf(answer),
    candidatesTokenCount: USAGE.visible,
    totalTokenCount: inputOf(answer) + OUTPUT_TOKENS,
    cachedContentTokenCount: USAGE.cacheRead,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: inputOf(answer) }],
    cacheTokensDetails: [{ modality: "TEXT", tokenCount: USAGE.cacheRead }],
    thoughtsTokenCount: USAGE.reasoning,
  }
}

function whole(answer: ScriptedAnswer): JsonObject {
  return response(writtenParts(answer), { answer, finishReason: WORDS[answer.finish] })
}

interface CandidateFrame {
  readonly answer: ScriptedAnswer
  readonly finishReason?: string
}

function response(parts: readonly JsonObject[], { answer, finishReason }: CandidateFrame): JsonObject {
  const content = parts.length > 0 ? { parts, role: "model" } : { role: "model" }
  return {
    candidates: [{ content, ...(finishReason !== undefined && { finishReason }), index: 0 }],
    usageMetadata: usageOf(answer),
    modelVersion: "upstream-model-001",
    responseId: "mOsAaf3xBL2jvdIP0u2j0Ag",
  }
}

/** The first call of an answer bears a signature, always; without a call the last text does, where there was a thought. */
function writtenParts({ parts }: ScriptedAnswer): JsonObject[] {
  const [seal] = parts.flatMap((part) => ("reasoning" in part ? [part.seal] : []))
  const firstCall = parts.findIndex((part) => "call" in part)
  return parts.flatMap((part, index): JsonObject[] => {
    if ("refusal" in part) return []
    if ("reasoning" in part) return [{ text: part.reasoning, thought: true }]
    if ("text" in part) {
      const isLast = firstCall < 0 && index === parts.length - 1
      const signature = part.seal ?? (isLast ? seal : undefined)
      return [{ text: part.text, ...(signature !== undefined && { thoughtSignature: signature }) }]
    }
    if ("remote" in part) return unspeakable(part)
    // The vendor gives calls no ids.
    const { name, arguments: args } = part.call
    return [{ functionCall: { name, args }, ...(index === firstCall && { thoughtSignature: seal ?? UNSEEN_SEAL }) }]
  })
}

function event(value: JsonObject): string {
  return `data: ${JSON.stringify(value)}\r\n\r\n`
}

/** Texts are streamed in pieces, with a signature after the last; arguments are not streamed by this vendor. */
function stream(answer: ScriptedAnswer): EncodedAnswer {
  const speech = new AnswerRecorder()
  const written = writtenParts(answer)
  for (const { text: content, thoughtSignature, ...more } of written) {
    const signed = thoughtSignature === undefined ? {} : { thoughtSignature }
    const pieces =
      content === undefined
        ? [{ ...more, ...signed }]
        : inPieces(text(content)).map((piece) => ({ text: piece, ...more }))
    for (const piece of pieces) speech.addPiece(event(response([piece], { answer })))
    if (content !== undefined && thoughtSignature !== undefined)
      speech.add(event(response([{ text: "", ...signed }], { answer })))
  }
  const finishReason = WORDS[answer.finish]
  speech.add(event(response(written.length > 0 ? [{ text: "" }] : [], { answer, finishReason })))
  return speech
}

function parseRequest(body: WireMembers, { model, stream: streams }: RequestTarget): ReceivedConversation {
  const config = members(body.generationConfig)
  const thinking = members(config.thinkingConfig)
  const calls = new PendingCalls()
  return {
    model,
    stream: streams,
    instructions: list(members(body.systemInstruction).parts)
      .map((part) => text(members(part).text))
      .join("\n\n"),
    turns: joined(
      list(body.contents).map((content) => {
        const { role, parts } = members(content)
        return { by: role === "model" ? "assistant" : "user", parts: list(parts).map((part) => partOf(part, calls)) }
      }),
    ),
    tools: list(body.tools)
      .flatMap((tool) => list(members(tool).functionDeclarations).map(members))
      .map(({ name, description, parametersJsonSchema, parameters }) => ({
        name: text(name),
        description: text(description),
        schema: (parametersJsonSchema ?? parameters ?? null) as MatrixJson,
      })),
    choice: choiceOf(members(members(body.toolConfig).functionCallingConfig)),
    stop: list(config.stopSequences).map(text),
    marked: [],
    ...given({
      schema: (config.responseJsonSchema ?? config.responseSchema) as MatrixJson | undefined,
      maxOutputTokens: numberOrNone(config.maxOutputTokens),
      effort: textOrNone(thinking.thinkingLevel)?.toLowerCase(),
      budgetTokens: numberOrNone(thinking.thinkingBudget),
    }),
  }
}

function choiceOf({ mode, allowedFunctionNames }: WireMembers): ReceivedConversation["choice"] {
  const [only, ...others] = list(allowedFunctionNames).map(text)
  if (mode === "NONE") return "none"
  if (mode !== "ANY") return "auto"
  return only !== undefined && others.length === 0 ? { tool: only } : "any"
}

/** Calls may have no ids; then results answer the calls of their tool in order. */
class PendingCalls {
  private readonly waiting: MatrixToolCall[] = []
  private count = 0

  called(call: WireMembers): MatrixToolCall {
    const id = textOrNone(call.id) ?? `unnamed ${this.count++}`
    const received = { id, name: text(call.name), arguments: (call.args ?? {}) as MatrixJson }
    this.waiting.push(received)
    return received
  }

  answered({ id, name }: WireMembers): string {
    const isIt = (call: MatrixToolCall) => (id === undefined ? call.name === name : call.id === id)
    const index = this.waiting.findIndex(isIt)
    return index < 0 ? `no call ${text(id)} of ${text(name)}` : text(this.waiting.splice(index, 1)[0]?.id)
  }
}

function partOf(value: unknown, calls: PendingCalls): ReceivedPart {
  const part = members(value)
  const { functionCall, functionResponse, inlineData } = part
  const seal = given({ seal: textOrNone(part.thoughtSignature) })
  if (functionCall) return { kind: "call", call: calls.called(members(functionCall)), ...seal }
  if (functionResponse) return resultOf(members(functionResponse), calls)
  if (inlineData) {
    const media = mediaOf(members(inlineData))
    return { kind: media.mediaType.startsWith("image/") ? "image" : "document", media }
  }
  if (part.thought === true) return { kind: "reasoning", text: text(part.text), ...seal }
  return typeof part.text === "string" ? { kind: "text", text: part.text, ...seal } : { kind: "unknown", value }
}

function mediaOf({ mimeType, data }: WireMembers): MediaFile {
  return { mediaType: text(mimeType), base64: text(data) }
}

function resultOf(result: WireMembers, calls: PendingCalls): ReceivedPart {
  const response = members(result.response)
  const output = response.error ?? response.output ?? response.result
  return {
    kind: "result",
    callId: calls.answered(result),
    text: typeof output === "string" ? output : JSON.stringify(output ?? response),
    images: list(result.parts).map((part) => mediaOf(members(members(part).inlineData))),
    failed: "error" in response,
  }
}
