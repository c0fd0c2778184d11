// A provider without a network: takes the gateway's upstream requests, answers as the vendor would, and fails on
// request.
import { isObject, type JsonObject } from "../canonical/json.ts"
import type { UpstreamRequest } from "../transport/http-client.ts"
import { digest } from "./digest.ts"
import {
  joinDirectives,
  NO_DIRECTIVES,
  parseDirectives,
  type SimulatedSpeed,
  type SimulatorDirectives,
  splitModelName,
} from "./directives.ts"
import { anthropicCountTokens, anthropicMessages } from "./endpoints/anthropic-messages.ts"
import { geminiBatchEmbed, geminiEmbed } from "./endpoints/gemini-embed.ts"
import { geminiCountTokens, geminiGenerate, geminiStreamGenerate } from "./endpoints/gemini-generate.ts"
import { splitPath } from "./endpoints/gemini-path.ts"
import { openaiChat } from "./endpoints/openai-chat.ts"
import { openaiCompletions } from "./endpoints/openai-completions.ts"
import { openaiEmbeddings } from "./endpoints/openai-embeddings.ts"
import { openaiErrorFormat } from "./endpoints/openai-error.ts"
import { openaiImages } from "./endpoints/openai-images.ts"
import { openaiModerations } from "./endpoints/openai-moderations.ts"
import { openaiResponses } from "./endpoints/openai-responses.ts"
import type { SimulatedFailure } from "./error-format.ts"
import { playResponse, type ResponsePlayback } from "./playback/play-response.ts"
import { failureOf, type ResponseScene, responseSteps, statusOf } from "./playback/response-steps.ts"
import { TokenPace } from "./playback/token-pace.ts"
import { PromptCache } from "./prompt-cache.ts"
import { type SimulatedCall, type SimulatedEndpoint, SimulatedRefusal, type SimulatedReply } from "./simulated-call.ts"
import { ChargeMeter, type SimulatedCharge } from "./simulated-charge.ts"

/** Endpoints by the end of the path. */
const ENDPOINTS: readonly (readonly [ending: string, endpoint: SimulatedEndpoint])[] = [
  ["/chat/completions", openaiChat],
  ["/completions", openaiCompletions],
  ["/responses", openaiResponses],
  ["/embeddings", openaiEmbeddings],
  ["/images/generations", openaiImages],
  ["/moderations", openaiModerations],
  ["/messages", anthropicMessages],
  ["/messages/count_tokens", anthropicCountTokens],
  [":generateContent", geminiGenerate],
  [":streamGenerateContent", geminiStreamGenerate],
  [":countTokens", geminiCountTokens],
  [":embedContent", geminiEmbed],
  [":batchEmbedContents", geminiBatchEmbed],
]

/** The header for directives. */
export const DIRECTIVES_HEADER = "x-simulate"

export interface SimulatorOptions {
  /** By default no delays. */
  readonly speed?: SimulatedSpeed
  /** With a seed, every answer has its own id, derived from the seed and the number of calls. */
  readonly seed?: string | undefined
  readonly onCharge?: (charge: SimulatedCharge) => void
}

interface SimulatorInput {
  readonly url: string
  readonly body: string | Uint8Array
  /** The value of the directives header. */
  readonly directives?: string | null | undefined
}

/** Remembers prompts, as a provider's prompt cache does, and counts its calls. */
export class Simulator {
  readonly #options: SimulatorOptions
  readonly #cache = new PromptCache()
  #calls = 0

  constructor(options: SimulatorOptions = {}) {
    this.#options = options
  }

  /** The response, ready to be played. */
  answer(input: SimulatorInput): ResponsePlayback {
    const { seed, speed = {}, onCharge = () => {} } = this.#options
    const own = digest(`${seed ?? ""} ${this.#calls++}`)
    const requestId = `req_${own.slice(0, 24)}`
    const { path, query } = addressOf(input.url)
    const endpoint = ENDPOINTS.find(([ending]) => path.endsWith(ending))?.[1]
    const errorFormat = endpoint?.errorFormat(query) ?? openaiErrorFormat
    let directives = NO_DIRECTIVES
    let reply: SimulatedReply | SimulatedFailure
    try {
      if (!endpoint) throw new SimulatedRefusal(`Invalid URL (POST ${path})`, { status: 404, code: null })
      const read = readCall(path, input)
      directives = read.directives
      const call = { ...read.call, id: seed === undefined ? "" : own, query, cache: this.#cache }
      reply = isRefused(directives) ? failureOf({ directives, requestId }) : endpoint.answer(call)
    } catch (thrown) {
      if (!(thrown instanceof SimulatedRefusal)) throw thrown
      const { message, detail } = thrown
      reply = { status: 400, ...detail, message, requestId }
    }
    const scene: ResponseScene = {
      directives,
      errorFormat,
      pace: new TokenPace({ ...speed, ...directives }, `${own} pace`),
      requestId,
    }
    const meter = new ChargeMeter({
      charge: "status" in reply ? undefined : reply.charge,
      path,
      requestId,
      onCharge,
    })
    return { steps: meter.watch(responseSteps(reply, scene)), onClientGone: () => meter.onClientGone() }
  }
}

export type SimulatedSend = (outgoing: UpstreamRequest) => Promise<Response>

/** The simulator in this process, in place of the network. */
export function createSimulator(options?: SimulatorOptions): SimulatedSend {
  const simulator = new Simulator(options)
  return async ({ url, headers, body, abort: { signal } }) => {
    signal.throwIfAborted()
    return playResponse(simulator.answer({ url, body, directives: headers.get(DIRECTIVES_HEADER) }), signal)
  }
}

/** An error inside the answer does not refuse the request. */
function isRefused(directives: SimulatorDirectives): boolean {
  return statusOf(directives) !== undefined && !directives.faults.some(({ effect }) => effect === "error")
}

function addressOf(url: string): { path: string; query: URLSearchParams } {
  const [address = "", query = ""] = url.replace(/#.*$/, "").split("?", 2)
  return { path: address.replace(/^[\w+.-]+:(?:\/\/[^/]*)?/, ""), query: new URLSearchParams(query) }
}

interface ReadCall {
  readonly call: Pick<SimulatedCall, "path" | "body">
  readonly directives: SimulatorDirectives
}

/** The call without its directives, which are removed from the model's name in the path or body. */
function readCall(path: string, { body: sent, directives: header }: SimulatorInput): ReadCall {
  const headerDirectives = header ? parseDirectives(header.trim()) : NO_DIRECTIVES
  if (!headerDirectives)
    throw new SimulatedRefusal(
      `${DIRECTIVES_HEADER}: "${header}" is not made of the simulator's words, joined by dots.`,
    )
  const body = parse(sent)
  const inPath = splitPath(path)
  if (inPath)
    return { call: { path: inPath.path, body }, directives: joinDirectives(inPath.directives, headerDirectives) }
  if (typeof body.model !== "string") return { call: { path, body }, directives: headerDirectives }
  const { name: model, directives, suffix } = splitModelName(body.model)
  return {
    call: { path, body: suffix === "" ? body : { ...body, model } },
    directives: joinDirectives(directives, headerDirectives),
  }
}

function parse(body: string | Uint8Array): JsonObject {
  try {
    const parsed: unknown = JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body))
    if (isObject(parsed)) return parsed
  } catch {
    // Reported below, like a body that is JSON but not an object.
  }
  throw new SimulatedRefusal("The body of the request is not a JSON object.")
}
