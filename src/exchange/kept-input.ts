// What of a request is kept to count its tokens by, should nobody else: a small one whole, of a large one a sample.
import type { JsonObject } from "../canonical/json.ts"
import { filesIn } from "../counting/input-bound.ts"
import type { Codecs } from "../protocols/codec.ts"
import type { Envelope } from "../protocols/contract.ts"
import { decodeByteText, fromByteText, toByteText } from "../transport/byte-text.ts"
import { type Countable, textOfInput, textOfRequest } from "./counted-text.ts"

const MAX_KEPT = 32 * 1024
/** A file's words are none. */
const TOKENS_PER_FILE = 1000

interface Spoken {
  readonly protocol: string
  readonly envelope: Envelope
  readonly codecs: Codecs
}

/** What can be counted later, when the request itself has gone. */
export interface KeptInput {
  countable(): Countable
  /** What share of the request the text is. */
  readonly share: number
}

export function keepInput(text: string, spoken: Spoken): KeptInput {
  if (text.length <= MAX_KEPT) return { share: 1, countable: () => whole(parsed(text), spoken) }
  const files = filesIn(text)
  const words = wordsIn(text, files)
  const length = text.length - files.reduce((sum, [from, to]) => sum + to - from, 0)
  const share = length === 0 ? 1 : words.length / length
  return { share, countable: () => ({ text: decodeByteText(words), tokens: files.length * TOKENS_PER_FILE }) }
}

/** As much of the text between the files as is kept. */
function wordsIn(text: string, files: ReturnType<typeof filesIn>): string {
  let words = ""
  let at = 0
  for (const [from, to] of [...files, [text.length, text.length] as const]) {
    words += text.slice(at, Math.min(from, at + MAX_KEPT - words.length))
    at = to
  }
  // A slice would hold on to all of it.
  return toByteText(fromByteText(words))
}

function whole(body: JsonObject, { protocol, envelope, codecs }: Spoken): Countable {
  const codec = codecs.ingress.get(protocol)
  return codec ? textOfRequest(codec.decodeRequest(body, envelope)) : textOfInput(body)
}

function parsed(text: string): JsonObject {
  return JSON.parse(decodeByteText(text))
}
