// generateContent with the `@google/genai` library.
import {
  ApiError,
  type Content,
  FunctionCallingConfigMode,
  type GenerateContentConfig,
  type GenerateContentResponse,
  GoogleGenAI,
  type Part,
} from "@google/genai"
import {
  type ClientFailure,
  type ClientReply,
  type MatrixRequest,
  type MediaFile,
  type RequestTurn,
  type ToolResultInput,
  type UserPart,
  unspeakable,
} from "../conversation.ts"
import { given, members, numberOrNone, parsed, textOrNone } from "../wire.ts"
import { LOSSES_HEADER, type MatrixClient, type MatrixConnection, outcomeOf, PATIENCE_MS } from "./client.ts"

/** The token budget for `high`. */
const HARD_BUDGET = 24_576

export function geminiGenerateClient({ gateway, key, model }: MatrixConnection): MatrixClient {
  const google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: gateway.gemini, timeout: PATIENCE_MS } })
  const streamed = async (ask: MatrixRequest, pieces: string[]): Promise<GenerateContentResponse[]> => {
    const chunks: GenerateContentResponse[] = []
    for await (const chunk of await google.models.generateContentStream(bodyOf(ask, model))) {
      chunks.push(chunk)
      const piece = textIn(partsIn(chunk), { thoughts: false })
      if (piece !== "") pieces.push(piece)
    }
    return chunks
  }
  return {
    protocol: "gemini-generate",
    library: "@google/genai",
    endings: {
      stop: ["STOP"],
      "stop-sequence": ["STOP"],
      length: ["MAX_TOKENS"],
      "tool-calls": ["STOP"],
      refusal: ["SAFETY", "PROHIBITED_CONTENT", "blocked: SAFETY", "blocked: PROHIBITED_CONTENT"],
    },
    send: (ask, { stream }) =>
      outcomeOf(async (pieces) => {
        const chunks = stream ? await streamed(ask, pieces) : [await google.models.generateContent(bodyOf(ask, model))]
        return replyOf(chunks)
      }, failureOf),
  }
}

/** The library keeps an error's JSON as its message. */
function failureOf(thrown: unknown): ClientFailure {
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  const error = members(members(parsed(message.slice(message.indexOf("{")))).error)
  // The vendor's path has the status there, and our code in the details.
  const [detail] = Array.isArray(error.details) ? error.details : []
  const code = textOrNone(members(detail).reason)
  const status = thrown instanceof ApiError ? thrown.status : undefined
  return { isOfLibrary: thrown instanceof ApiError, message, ...given({ status, code }) }
}

function bodyOf(
  ask: MatrixRequest,
  model: string,
): { model: string; contents: Content[]; config: GenerateContentConfig } {
  const config = given({
    systemInstruction: ask.instructions,
    tools: ask.tools && [
      {
        functionDeclarations: ask.tools.map(({ name, description, schema }) => ({
          name,
          description,
          parametersJsonSchema: schema,
        })),
      },
    ],
    toolConfig:
      ask.forcedTool === undefined
        ? undefined
        : { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: [ask.forcedTool] } },
    responseMimeType: ask.format && "application/json",
    responseJsonSchema: ask.format?.schema,
    thinkingConfig: ask.thinkHard && { thinkingBudget: HARD_BUDGET, includeThoughts: true },
    stopSequences: ask.stop && [...ask.stop],
    maxOutputTokens: ask.maxOutputTokens,
    // A cache is an object of the upstream's account here, not a position in the prompt.
    cachedContent: ask.cached && "cachedContents/matrix",
  })
  return { model, contents: ask.turns.map(contentOf), config }
}

function contentOf(turn: RequestTurn): Content {
  if (turn.by === "user") return { role: "user", parts: turn.parts.map(partOf) }
  if (turn.by === "tools") return { role: "user", parts: turn.results.map(resultOf) }
  return "echo" in turn ? (turn.echo as Content) : { role: "model", parts: [{ text: turn.text }] }
}

function partOf(part: UserPart): Part {
  if ("text" in part) return { text: part.text }
  if ("passage" in part) return unspeakable(part)
  return inline("image" in part ? part.image : part.document)
}

function inline({ mediaType, base64 }: MediaFile): Part {
  return { inlineData: { mimeType: mediaType, data: base64 } }
}

function resultOf({ call, text, image, failed }: ToolResultInput): Part {
  const id = call.id === "" ? {} : { id: call.id }
  const response = failed ? { error: text } : { output: text }
  return { functionResponse: { ...id, name: call.name, response, ...(image && { parts: [inline(image)] }) } }
}

function partsIn({ candidates }: GenerateContentResponse): Part[] {
  return candidates?.[0]?.content?.parts ?? []
}

function textIn(parts: readonly Part[], { thoughts }: { thoughts: boolean }): string {
  return parts.map(({ text = "", thought = false }) => (thought === thoughts ? text : "")).join("")
}

function replyOf(chunks: readonly GenerateContentResponse[]): ClientReply {
  const parts = chunks.flatMap(partsIn)
  const last = chunks.at(-1)
  const { modelVersion = "", promptFeedback, usageMetadata: usage } = last ?? {}
  const blocked = promptFeedback?.blockReason
  return {
    text: textIn(parts, { thoughts: false }),
    reasoning: textIn(parts, { thoughts: true }),
    calls: parts.flatMap(({ functionCall: call }) =>
      call ? [{ id: call.id ?? "", name: call.name ?? "", arguments: (call.args ?? {}) as never }] : [],
    ),
    finish: blocked === undefined ? (last?.candidates?.[0]?.finishReason ?? "") : `blocked: ${blocked}`,
    model: modelVersion,
    ...given({ losses: chunks[0]?.sdkHttpResponse?.headers?.[LOSSES_HEADER] }),
    ...(usage && {
      usage: {
        input: usage.promptTokenCount ?? 0,
        output: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
        ...given({
          cacheRead: numberOrNone(usage.cachedContentTokenCount),
          reasoning: numberOrNone(usage.thoughtsTokenCount),
        }),
      },
    }),
    echo: { role: "model", parts },
  }
}
