// How many tokens a request's input can at most be, by its length: what is held before anybody is called. Cheap, because
// it is asked of every request; what is used beyond it is booked all the same.

/** Of all text that was measured, in any vendor's tokens, none has more than 0.83 for a byte; most has a quarter. */
const TOKENS_PER_BYTE = 0.85
/** What a vendor counts in addition to the text: marks of turns and tools. */
const USUAL_OVERHEAD = 64
/** Inline files stand in base64, whose length says little: a picture costs by its size, a document by its pages. */
const FILE_TOKENS = 6000
const BYTES_PER_FILE_STEP = 256 * 1024
const MIN_FILE_LENGTH = 2000
/** What may stand before a file's base64 in its string: `data:image/png;base64,`. */
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

/** Where the strings stand that hold a file. */
export function filesIn(text: string): (readonly [from: number, to: number])[] {
  const found: [number, number][] = []
  for (let at = 0; at + MIN_FILE_LENGTH < text.length; ) {
    // Of all quotes only the last is of interest within what is too short for a file.
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
