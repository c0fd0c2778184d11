// Keeps what is needed to count a request's tokens later: a small request whole, a sample of a large one.
import type { JsonObject } from "../../canonical/json.ts"
import { filesIn } from "../../counting/input-bound.ts"
import type { CodecRegistry } from "../../protocols/chat-codec.ts"
import type { RequestEnvelope } from "../../protocols/contract.ts"
import { decodeByteText, fromByteText, toByteText } from "../../transport/json/byte-text.ts"
import { type CountableText, textOfInput, textOfRequest } from "./countable-text.ts"

const MAX_KEPT = 32 * 1024
/** A file's words are none. */
const TOKENS_PER_FILE = 1000

interface SampledRequest {
  readonly protocol: string
  readonly envelope: RequestEnvelope
  readonly codecs: CodecRegistry
}

/** What can be counted later, when the request itself has gone. */
export interface InputSample {
  countable(): CountableText
  /** What share of the request the text is. */
  readonly share: number
}

export function sampleInput(text: string, request: SampledRequest): InputSample {
  if (text.length <= MAX_KEPT) return { share: 1, countable: () => countWhole(parseByteText(text), request) }
  const files = filesIn(text)
  const words = sampleText(text, files)
  const length = text.length - files.reduce((sum, [from, to]) => sum + to - from, 0)
  const share = length === 0 ? 1 : words.length / length
  return { share, countable: () => ({ text: decodeByteText(words), tokens: files.length * TOKENS_PER_FILE }) }
}

/** As much of the text between the files as is kept. */
function sampleText(text: string, files: ReturnType<typeof filesIn>): string {
  let words = ""
  let at = 0
  for (const [from, to] of [...files, [text.length, text.length] as const]) {
    words += text.slice(at, Math.min(from, at + MAX_KEPT - words.length))
    at = to
  }
  // A slice would hold on to all of it.
  return toByteText(fromByteText(words))
}

function countWhole(body: JsonObject, { protocol, envelope, codecs }: SampledRequest): CountableText {
  const codec = codecs.ingress.get(protocol)
  return codec ? textOfRequest(codec.decodeRequest(body, envelope)) : textOfInput(body)
}

function parseByteText(text: string): JsonObject {
  return JSON.parse(decodeByteText(text))
}
