// A provider without a network: takes what an upstream would be sent, answers as that vendor would, fails on request.
import { isObject, type JsonObject } from "../canonical/json.ts"
import type { Outgoing } from "../transport/http-client.ts"
import { acts, failureOf, type Stage, statusOf } from "./acts.ts"
import { anthropicCountTokens, anthropicMessages } from "./anthropic-messages.ts"
import { type Bill, Meter } from "./bill.ts"
import { Refusal, type SimulatedCall, type SimulatedEndpoint, type SimulatedReply } from "./call.ts"
import { digest } from "./digest.ts"
import { geminiBatchEmbed, geminiEmbed } from "./gemini-embed.ts"
import { geminiCountTokens, geminiGenerate, geminiStreamGenerate } from "./gemini-generate.ts"
import { splitPath } from "./gemini-path.ts"
import { openaiChat } from "./openai-chat.ts"
import { openaiCompletions } from "./openai-completions.ts"
import { openaiEmbeddings } from "./openai-embeddings.ts"
import { openaiVoice } from "./openai-error.ts"
import { openaiImages } from "./openai-images.ts"
import { openaiModerations } from "./openai-moderations.ts"
import { openaiResponses } from "./openai-responses.ts"
import { Pace } from "./pace.ts"
import { type Performance, playedResponse } from "./played-response.ts"
import { PromptCache } from "./prompt-cache.ts"
import type { Failure } from "./voice.ts"
import { joined, NO_WISHES, readWords, type Speed, splitName, type Wishes } from "./words.ts"

/** By how the path ends. */
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

/** The header that asks for failures and speed. */
export const WORDS_HEADER = "x-simulate"

export interface SimulatorOptions {
  /** As fast as it can, unless told otherwise. */
  readonly speed?: Speed
  /** With one, every answer has an id of its own, which follows from it and from how many calls came before. */
  readonly seed?: string | undefined
  readonly onBill?: (bill: Bill) => void
}

interface Asked {
  readonly url: string
  readonly body: string | Uint8Array
  /** What the header said. */
  readonly words?: string | null | undefined
}

/** Remembers the prompts it was sent, as a provider's prompt cache would, and counts its calls. */
export class Simulator {
  readonly #options: SimulatorOptions
  readonly #cache = new PromptCache()
  #calls = 0

  constructor(options: SimulatorOptions = {}) {
    this.#options = options
  }

  /** The answer, ready to be played. */
  perform(asked: Asked): Performance {
    const { seed, speed = {}, onBill = () => {} } = this.#options
    const own = digest(`${seed ?? ""} ${this.#calls++}`)
    const requestId = `req_${own.slice(0, 24)}`
    const { path, query } = addressOf(asked.url)
    const endpoint = ENDPOINTS.find(([ending]) => path.endsWith(ending))?.[1]
    const voice = endpoint?.voice(query) ?? openaiVoice
    let wishes = NO_WISHES
    let reply: SimulatedReply | Failure
    try {
      if (!endpoint) throw new Refusal(`Invalid URL (POST ${path})`, { status: 404, code: null })
      const read = readCall(path, asked)
      wishes = read.wishes
      const call = { ...read.call, id: seed === undefined ? "" : own, query, cache: this.#cache }
      reply = isRefused(wishes) ? failureOf({ wishes, requestId }) : endpoint.answer(call)
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown
      const { message, detail } = thrown
      reply = { status: 400, ...detail, message, requestId }
    }
    const stage: Stage = { wishes, voice, pace: new Pace({ ...speed, ...wishes }, `${own} pace`), requestId }
    const meter = new Meter({ charge: "status" in reply ? undefined : reply.charge, path, requestId, onBill })
    return { acts: meter.watch(acts(reply, stage)), left: () => meter.left() }
  }
}

/** Takes what an upstream would be sent. */
export type SimulatedSend = (outgoing: Outgoing) => Promise<Response>

/** The simulator in this process, in the network's place. */
export function createSimulator(options?: SimulatorOptions): SimulatedSend {
  const simulator = new Simulator(options)
  return async ({ url, headers, body, abort: { signal } }) => {
    signal.throwIfAborted()
    return playedResponse(simulator.perform({ url, body, words: headers.get(WORDS_HEADER) }), signal)
  }
}

/** An error inside the answer is no refusal of it. */
function isRefused(wishes: Wishes): boolean {
  return statusOf(wishes) !== undefined && !wishes.faults.some(({ does }) => does === "error")
}

function addressOf(url: string): { path: string; query: URLSearchParams } {
  const [address = "", query = ""] = url.replace(/#.*$/, "").split("?", 2)
  return { path: address.replace(/^[\w+.-]+:(?:\/\/[^/]*)?/, ""), query: new URLSearchParams(query) }
}

interface ReadCall {
  readonly call: Pick<SimulatedCall, "path" | "body">
  readonly wishes: Wishes
}

/** The call without what was asked of the simulator: the model's suffix, in the path or in the body. */
function readCall(path: string, { body: sent, words }: Asked): ReadCall {
  const said = words ? readWords(words.trim()) : NO_WISHES
  if (!said) throw new Refusal(`${WORDS_HEADER}: "${words}" is not made of the simulator's words, joined by dots.`)
  const body = parse(sent)
  const inPath = splitPath(path)
  if (inPath) return { call: { path: inPath.path, body }, wishes: joined(inPath.wishes, said) }
  if (typeof body.model !== "string") return { call: { path, body }, wishes: said }
  const { name: model, wishes, suffix } = splitName(body.model)
  return { call: { path, body: suffix === "" ? body : { ...body, model } }, wishes: joined(wishes, said) }
}

function parse(body: string | Uint8Array): JsonObject {
  try {
    const parsed: unknown = JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body))
    if (isObject(parsed)) return parsed
  } catch {
    // Told below, like a body that is JSON but no object.
  }
  throw new Refusal("The body of the request is not a JSON object.")
}
