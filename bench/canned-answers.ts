// The answers of the fixed upstream in each protocol: one unary answer and one stream, as bytes ready to be written.
import type { BenchProtocolName } from "./protocols.ts"

export const CONTENT_CHUNKS = 200

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

export type CannedAnswers = {
  /** Head and body of the unary answer, about 1 KB. */
  unary: Buffer
  /** The stream, one element per write: the first carries the head, the last the end of the chunked body. */
  pieces: readonly Buffer[]
  /** The end of a whole stream. */
  endMark: string
  /** Half of the line feeds a client must at least see: all, except those of an event that only reports usage. */
  minimumEvents: number
}

type CannedAnswer = { unary: object; events: readonly string[] }

export function cannedAnswers(protocol: BenchProtocolName): CannedAnswers {
  const { unary, events } = ANSWERS[protocol]()
  const text = events.join("")
  const [, ending = ""] = /([^\n]{1,24}\n\n)$/.exec(text) ?? []
  const minimumEvents = (text.split("\n").length - 1) / 2 - 1
  return { unary: whole(unary), pieces: streamed(events), endMark: ending, minimumEvents }
}

const content = Array.from({ length: 90 }, (_, index) => words[index % words.length]).join("")
const chunks = Array.from({ length: CONTENT_CHUNKS }, (_, index) => words[index % words.length] ?? "")

/** Openers come with the first token: a gateway may hold them back, and what is measured is how long that token takes. */
const ANSWERS: Record<BenchProtocolName, () => CannedAnswer> = {
  "openai-chat": chat,
  "openai-responses": responses,
  "anthropic-messages": messages,
  "gemini-generate": generate,
}

function chat(): CannedAnswer {
  const delta = (content: object, finish_reason: string | null) => {
    const choices = [{ index: 0, delta: content, logprobs: null, finish_reason }]
    return dataFrame({ ...shared, object: "chat.completion.chunk", choices })
  }
  const message = { role: "assistant", content, refusal: null }
  const choices = [{ index: 0, message, logprobs: null, finish_reason: "stop" }]
  return {
    unary: { ...shared, object: "chat.completion", choices, usage },
    events: [
      delta({ role: "assistant", content: words[0], refusal: null }, null),
      ...chunks.map((word) => delta({ content: word }, null)),
      delta({}, "stop"),
      dataFrame({ ...shared, object: "chat.completion.chunk", choices: [], usage }),
      "data: [DONE]\n\n",
    ],
  }
}

function responses(): CannedAnswer {
  const item = "msg_BenchFixedAnswer0000000001"
  const counted = {
    input_tokens: 231,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: CONTENT_CHUNKS,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 231 + CONTENT_CHUNKS,
  }
  const response = { id: "resp_Bench01", object: "response", created_at: shared.created, model: shared.model }
  const message = { id: item, type: "message", role: "assistant", content: [{ type: "output_text", text: content }] }
  let sequence_number = 0
  const event = (type: string, rest: object) => typedFrame({ type, ...rest, sequence_number: sequence_number++ })
  const place = { item_id: item, output_index: 0, content_index: 0 }
  const delta = (word: string) => event("response.output_text.delta", { ...place, delta: word, logprobs: [] })
  const opening = [
    event("response.created", { response: { ...response, status: "in_progress", output: [] } }),
    event("response.output_item.added", { output_index: 0, item: { ...message, content: [] } }),
    event("response.content_part.added", { ...place, part: { type: "output_text", text: "" } }),
    delta("The"),
  ]
  const whole = { ...response, status: "completed", output: [message], usage: counted }
  return {
    unary: whole,
    events: [
      opening.join(""),
      ...chunks.map(delta),
      event("response.output_item.done", { output_index: 0, item: message }),
      event("response.completed", { response: whole }),
    ],
  }
}

function messages(): CannedAnswer {
  const counted = { input_tokens: 231, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 }
  const message = { id: "msg_Bench01", type: "message", role: "assistant", model: shared.model }
  const whole = { ...message, content: [{ type: "text", text: content }], stop_reason: "end_turn", usage: counted }
  const delta = (text: string) =>
    typedFrame({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })
  const opening = [
    typedFrame({ type: "message_start", message: { ...message, content: [], stop_reason: null, usage: counted } }),
    typedFrame({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    delta("The"),
  ]
  const stop = { stop_reason: "end_turn", stop_sequence: null }
  return {
    unary: whole,
    events: [
      opening.join(""),
      ...chunks.map(delta),
      typedFrame({ type: "content_block_stop", index: 0 }),
      typedFrame({ type: "message_delta", delta: stop, usage: { output_tokens: CONTENT_CHUNKS } }),
      typedFrame({ type: "message_stop" }),
    ],
  }
}

function generate(): CannedAnswer {
  const counted = (made: number) => ({
    promptTokenCount: 231,
    candidatesTokenCount: made,
    totalTokenCount: 231 + made,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: 231 }],
  })
  const answer = (text: string, made: number, finishReason?: string) => ({
    candidates: [{ content: { parts: [{ text }], role: "model" }, ...(finishReason && { finishReason }), index: 0 }],
    usageMetadata: counted(made),
    modelVersion: shared.model,
    responseId: "BenchFixedAnswer01",
  })
  return {
    unary: answer(content, 90, "STOP"),
    events: [
      ...chunks.map((word, index) => dataFrame(answer(word, index + 1))),
      dataFrame(answer(".", CONTENT_CHUNKS + 1, "STOP")),
    ],
  }
}

function dataFrame(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`
}

function typedFrame(event: { type: string; [member: string]: unknown }): string {
  return `event: ${event.type}\n${dataFrame(event)}`
}

function whole(answer: object): Buffer {
  const body = Buffer.from(JSON.stringify(answer))
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), body])
}

function streamed(events: readonly string[]): Buffer[] {
  const pieces = events.map(httpChunk)
  const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
  const first = pieces.shift() ?? Buffer.alloc(0)
  const last = pieces.pop() ?? Buffer.alloc(0)
  return [Buffer.concat([Buffer.from(head), first]), ...pieces, Buffer.concat([last, Buffer.from("0\r\n\r\n")])]
}

function httpChunk(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")])
}
