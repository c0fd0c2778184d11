// The simulator speaking OpenAI's chat completions.
import { randomUUID } from "node:crypto"
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"
import { encodeSse } from "../transport/sse.ts"
import { type SimulatedAnswer, simulate } from "./core.ts"

export function answerChat(body: JsonObject): Response {
  const answer = simulate(readRequest(body))
  const head = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: text(body.model) }
  if (body.stream !== true) return Response.json(unary(head, answer))
  const options = isObject(body.stream_options) ? body.stream_options : {}
  const chunks = stream(head, answer, { usage: options.include_usage === true })
  return new Response(pulled(chunks), { headers: { "content-type": "text/event-stream" } })
}

interface Head {
  readonly id: string
  readonly created: number
  readonly model: string
}

function readRequest(body: JsonObject) {
  const messages = Array.isArray(body.messages) ? body.messages.filter(isObject) : []
  const said = messages.map((message) => contentText(message.content))
  const limit = body.max_completion_tokens ?? body.max_tokens
  return {
    model: text(body.model),
    prompt: said.join(" "),
    lastWords: said.at(-1) ?? "",
    ...(typeof limit === "number" && { maxOutputTokens: limit }),
  }
}

function contentText(content: Json | undefined): string {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content.map((part) => (isObject(part) ? text(part.text) : "")).join(" ")
}

function text(value: Json | undefined): string {
  return typeof value === "string" ? value : ""
}

function unary(head: Head, answer: SimulatedAnswer): Json {
  const message = { role: "assistant", content: answer.tokens.join("") }
  const choices = [{ index: 0, message, logprobs: null, finish_reason: answer.finish }]
  return { ...head, object: "chat.completion", choices, usage: usageOf(answer) }
}

function* stream(head: Head, answer: SimulatedAnswer, { usage }: { usage: boolean }): Generator<string> {
  const chunk = (choices: Json, rest: JsonObject = usage ? { usage: null } : {}): string => {
    return encodeSse({ data: JSON.stringify({ ...head, object: "chat.completion.chunk", choices, ...rest }) })
  }
  const delta = (said: JsonObject, finish_reason: string | null = null) => [{ index: 0, delta: said, finish_reason }]
  yield chunk(delta({ role: "assistant", content: "" }))
  for (const token of answer.tokens) yield chunk(delta({ content: token }))
  yield chunk(delta({}, answer.finish))
  if (usage) yield chunk([], { usage: usageOf(answer) })
  yield encodeSse({ data: "[DONE]" })
}

function usageOf({ inputTokens, tokens }: SimulatedAnswer): JsonObject {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: tokens.length,
    total_tokens: inputTokens + tokens.length,
  }
}

function pulled(chunks: Generator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    pull(controller) {
      const { done, value } = chunks.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
  })
}
