// What the fixed upstream says: one unary answer and one stream, as bytes ready to be written.

const CONTENT_CHUNKS = 200

const id = "chatcmpl-BenchFixedAnswer0000000001"
const shared = {
  id,
  created: 1_760_000_000,
  model: "fixed-upstream",
  system_fingerprint: "fp_b1d5",
}
const usage = {
  prompt_tokens: 231,
  completion_tokens: CONTENT_CHUNKS,
  total_tokens: 231 + CONTENT_CHUNKS,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
}
const words = [
  "The",
  " answer",
  " is",
  ' "yes",',
  " naïvely",
  " put",
  ",",
  " but",
  "\n",
  " only",
  " on",
  " Mondays",
  ".",
]

/** Head and body of the unary answer, about 1 KB. */
export const unaryAnswer: Buffer = buildUnaryAnswer()

/** The stream, one element per write: the first carries the head, the last the end of the chunked body. */
export const streamPieces: readonly Buffer[] = buildStreamPieces()

/** Events a client must at least see: the role, every content delta, the finish and the end mark. */
export const MINIMUM_STREAM_EVENTS = CONTENT_CHUNKS + 3

function buildUnaryAnswer(): Buffer {
  const content = Array.from({ length: 90 }, (_, index) => words[index % words.length]).join("")
  const choice = {
    index: 0,
    message: { role: "assistant", content, refusal: null },
    logprobs: null,
    finish_reason: "stop",
  }
  const body = Buffer.from(JSON.stringify({ ...shared, object: "chat.completion", choices: [choice], usage }))
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), body])
}

function buildStreamPieces(): Buffer[] {
  const events = [
    // The role comes with the first token: a gateway may hold back an opener that says nothing, and what is measured
    // is how long the first token takes.
    delta({ role: "assistant", content: words[0], refusal: null }, null),
    ...Array.from({ length: CONTENT_CHUNKS }, (_, index) => delta({ content: words[index % words.length] }, null)),
    delta({}, "stop"),
    JSON.stringify({ ...shared, object: "chat.completion.chunk", choices: [], usage }),
    "[DONE]",
  ]
  const pieces = events.map((event) => httpChunk(`data: ${event}\n\n`))
  const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
  const first = pieces.shift() ?? Buffer.alloc(0)
  const last = pieces.pop() ?? Buffer.alloc(0)
  return [Buffer.concat([Buffer.from(head), first]), ...pieces, Buffer.concat([last, Buffer.from("0\r\n\r\n")])]
}

function delta(content: Record<string, unknown>, finishReason: string | null): string {
  const choices = [{ index: 0, delta: content, logprobs: null, finish_reason: finishReason }]
  return JSON.stringify({ ...shared, object: "chat.completion.chunk", choices })
}

function httpChunk(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")])
}
