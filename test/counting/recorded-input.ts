// Recorded requests with the input tokens their vendors counted, split into a fitting set and an evaluation set.
import { createHash } from "node:crypto"
import { countTokens as tokensIn } from "gpt-tokenizer/encoding/o200k_base"
import { assembleResponse } from "../../src/canonical/chat/assemble-response.ts"
import type { ChatRequest } from "../../src/canonical/chat/chat-request.ts"
import { isObject } from "../../src/canonical/json.ts"
import type { Usage } from "../../src/canonical/usage.ts"
import { familyOf } from "../../src/counting/count-tokens.ts"
import { estimateTokens } from "../../src/counting/estimate-tokens.ts"
import { textOfRequest } from "../../src/exchange/charge/countable-text.ts"
import type { UpstreamCodec } from "../../src/protocols/chat-codec.ts"
import { codecs } from "../../src/protocols.ts"
import { decodeByteText } from "../../src/transport/json/byte-text.ts"
import { decodeSse } from "../../src/transport/streams/sse.ts"
import { type RecordedExchange, recordings, streamText, wholeText } from "../recordings/recorded.ts"

export interface RecordedInput {
  readonly source: string
  readonly modelId: string
  readonly reported: number
  readonly estimated: number
  /** Whether it contains only text. */
  readonly isPlain: boolean
  /** Whether the counted input is in the request itself. */
  readonly isWhole: boolean
  /** Whether it belongs to the evaluation set; the weights were fitted on the others. */
  readonly isJudged: boolean
}

const ENDPOINTS: Readonly<Record<string, string>> = {
  chat: "openai-chat",
  responses: "openai-responses",
  messages: "anthropic-messages",
  generateContent: "gemini-generate",
  streamGenerateContent: "gemini-generate",
}

export function recordedInputs(): RecordedInput[] {
  return Object.entries(ENDPOINTS).flatMap(([endpoint, protocol]) =>
    recordings(endpoint).flatMap((recording) => inputOf(recording, protocol) ?? []),
  )
}

function inputOf(
  recording: RecordedExchange & { readonly model?: string },
  protocol: string,
): RecordedInput | undefined {
  const { source, provider, status, request: { body } = {}, model = "" } = recording
  const upstream = codecs.upstream.get(protocol)
  if (!isObject(body) || status !== 200 || !upstream) return undefined
  const reported = inputTokens(usageIn(recording, upstream))
  const request = decoded(body, protocol)
  if (!reported || !request) return undefined
  const { text, shape } = textOfRequest(request)
  if (!shape) throw new Error("a request has a shape")
  const modelId = `${authorOf(model, provider)}/${model.replace(/^.*[/.](?=gpt)/, "")}`
  return {
    source,
    modelId,
    reported,
    estimated: estimateTokens({ text, shape, family: familyOf(modelId) }, (piece) => tokensIn(piece)),
    isPlain: shape.tools + shape.calls + shape.media.length + shape.sealed === 0 && shape.format === "",
    isWhole:
      isWhole(request, { model, body: JSON.stringify(body) }) && shape.media.every(({ bytes }) => bytes !== undefined),
    isJudged: (createHash("sha256").update(source).digest()[0] ?? 0) % 3 === 0,
  }
}

/** Undefined where the request is of a kind that the gateway does not take. */
function decoded(body: Parameters<typeof JSON.stringify>[0], protocol: string): ChatRequest | undefined {
  try {
    const rest = "google/gemini:generateContent"
    return codecs.ingress.get(protocol)?.decodeRequest(body, { does: "generate", rest, query: "", headers: {} })
  } catch {
    return undefined
  }
}

/** Names of content elsewhere: earlier answers, stored prompts, tools of other hosts. */
const ELSEWHERE = /"(previous_response_id|conversation|cachedContent|cached_content|mcp_servers|preset)":/
/** Models that search, and count what they find. */
const SEARCHING = /compound|search|sonar/

function isWhole({ tools }: ChatRequest, { model, body }: { model: string; body: string }): boolean {
  return !tools.some(({ kind }) => kind === "hosted") && !ELSEWHERE.test(body) && !SEARCHING.test(model)
}

function usageIn(recording: RecordedExchange, upstream: UpstreamCodec): Usage | undefined {
  const context = { id: "id", minter: "" }
  const stream = streamText(recording)
  try {
    if (stream === undefined) {
      const body: unknown = JSON.parse(decodeByteText(wholeText(recording) ?? "null"))
      return isObject(body) ? upstream.decodeResponse(body, context)?.usage : undefined
    }
    const frames = decodeSse()
    const events = upstream.decodeStream(context)
    const received = [...frames.push(stream), ...frames.finish()].flatMap((frame) => events.push(frame))
    return assembleResponse([...received, ...events.finish()]).usage
  } catch {
    // Some recordings are cut, or of another interface.
    return undefined
  }
}

function inputTokens({ input, cacheRead, cacheWrite, cacheWrite1h, audioInput, imageInput }: Usage = {}): number {
  const buckets = [input, cacheRead, cacheWrite, cacheWrite1h, audioInput, imageInput]
  return buckets.reduce<number>((sum, count) => sum + (count ?? 0), 0)
}

const NAMES: readonly (readonly [RegExp, string])[] = [
  [/claude/i, "anthropic"],
  [/gemini/i, "google"],
  [/mi[sx]tral|magistral|ministral|pixtral/i, "mistral"],
  [/deepseek/i, "deepseek"],
  [/llama/i, "meta"],
  [/qwen/i, "alibaba"],
  [/glm/i, "zai"],
  [/gpt|^o\d|\/o\d|computer-use/i, "openai"],
]

/** Whose the model is, under whichever name its host has it. */
function authorOf(model: string, provider: string): string {
  const author = NAMES.find(([name]) => name.test(model))?.[1]
  return author ?? (provider === "openai" || provider === "azure-openai" ? "openai" : "other")
}
