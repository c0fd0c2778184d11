// How many tokens a request's input can at most be, by its length: what is held before anybody is called. Cheap, because
// it is asked of every request; what is used beyond it is booked all the same.

/** Of all text that was measured, in any vendor's tokens, none has more than 0.83 for a byte; most has a quarter. */
const TOKENS_PER_BYTE = 0.85
/** What a vendor counts beside the text: marks of turns and tools. */
const USUAL_OVERHEAD = 64
/** Inline files stand in base64, whose length says little: a picture costs by its size, a document by its pages. */
const FILE_TOKENS = 6000
const BYTES_PER_FILE_STEP = 256 * 1024
const MIN_FILE_LENGTH = 2000
const FILE = /[A-Za-z0-9+/_-]{2000,}={0,2}/g

/** `text` is a request's body in byte text. */
export function inputBound(text: string): number {
  if (text.length < MIN_FILE_LENGTH) return textBound(text.length)
  let textLength = text.length
  let files = 0
  for (const [file] of text.matchAll(FILE)) {
    textLength -= file.length
    files += FILE_TOKENS * Math.ceil(file.length / BYTES_PER_FILE_STEP)
  }
  return textBound(textLength) + files
}

function textBound(bytes: number): number {
  return Math.ceil(bytes * TOKENS_PER_BYTE) + USUAL_OVERHEAD
}
