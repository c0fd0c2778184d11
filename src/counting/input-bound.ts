// An upper bound of a request's input tokens by its length, which is held before any provider is called. It must be
// cheap, because every request needs it; usage above it is booked all the same.

/**
 * In all measured text, and with any vendor's tokenizer, no text has more than 0.83 tokens per byte; most has a
 * quarter.
 */
const TOKENS_PER_BYTE = 0.85
/** Tokens that a vendor counts in addition to the text, for turns and tools. */
const USUAL_OVERHEAD = 64
/** Inline files are base64, and its length means little: an image is charged by size, a document by pages. */
const FILE_TOKENS = 6000
const BYTES_PER_FILE_STEP = 256 * 1024
const MIN_FILE_LENGTH = 2000
/** The most characters before the base64 of a file in its string, such as `data:image/png;base64,`. */
const MAX_PREFIX = 128
const SAMPLE_LENGTH = 1024
const BASE64 = /^[A-Za-z0-9+/_=-]*$/

/** `text` is a request's body in byte text. */
export function inputBound(text: string): number {
  let textLength = text.length
  let files = 0
  for (const [from, to] of filesIn(text)) {
    textLength -= to - from
    files += FILE_TOKENS * Math.ceil((to - from) / BYTES_PER_FILE_STEP)
  }
  return textBound(textLength) + files
}

/** The positions of the strings that contain a file. */
export function filesIn(text: string): (readonly [from: number, to: number])[] {
  const found: [number, number][] = []
  for (let at = 0; at + MIN_FILE_LENGTH < text.length; ) {
    // Only the last quote matters within a span that is too short for a file.
    const quote = text.lastIndexOf('"', at + MIN_FILE_LENGTH)
    if (quote > at) {
      at = quote
      continue
    }
    const next = text.indexOf('"', at + MIN_FILE_LENGTH)
    const end = next < 0 ? text.length : next
    const from = at + 1 + MAX_PREFIX
    if (BASE64.test(text.slice(from, Math.min(from + SAMPLE_LENGTH, end)))) found.push([at, end])
    at = end
  }
  return found
}

function textBound(bytes: number): number {
  return Math.ceil(bytes * TOKENS_PER_BYTE) + USUAL_OVERHEAD
}
