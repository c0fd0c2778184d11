// Every route that calls a model, generating and counting, with the smallest request it accepts and the answer to that.
import type { UpstreamScript } from "../stage/upstream.ts"
import { chat, dialectAt, geminiEvents, type JsonBody, messages, responses, type WireDialect } from "./wire-dialects.ts"

export interface ModelRoute {
  readonly what: string
  path(model: string): string
  headers(key: string): Record<string, string>
  body(question: string, model: string): JsonBody
}

function routeOf(dialect: WireDialect, streamed: boolean): ModelRoute {
  return {
    what: streamed ? `${dialect.name}, streamed` : dialect.name,
    path: (model) => dialect.path(model, streamed),
    headers: dialect.headers,
    body: (question, model) => dialect.body(question, { model, streamed }),
  }
}

export const MODEL_ROUTES: readonly ModelRoute[] = [
  ...[chat, responses, messages, geminiEvents].flatMap((each) => [routeOf(each, false), routeOf(each, true)]),
  {
    what: "embeddings",
    path: () => "/v1/embeddings",
    headers: chat.headers,
    body: (question) => ({ model: "test/vectors", input: question }),
  },
  {
    what: "images",
    path: () => "/v1/images/generations",
    headers: chat.headers,
    body: (question) => ({ model: "test/pictures", prompt: question }),
  },
  {
    what: "messages, counted",
    path: () => "/anthropic/v1/messages/count_tokens",
    headers: messages.headers,
    body: (question, model) => ({ model, messages: [{ role: "user", content: question }] }),
  },
  {
    what: "gemini, counted",
    path: (model) => `/gemini/v1beta/models/${model}:countTokens`,
    headers: geminiEvents.headers,
    body: (question, model) => geminiEvents.body(question, { model, streamed: false }),
  },
]

/** Models of every kind, in addition to the chat model of `vendorsConfig`. */
export const OTHER_MODELS = `
  - { id: test/vectors, kind: embedding, context_window: 1000,
      pricing: { input: "1", output: "2" }, targets: [{ provider: openai-like, model: upstream-vectors }] }
  - { id: test/pictures, kind: image, pricing: { input: "1", output: "2" }, targets: [{ provider: openai-like, model: upstream-pictures }] }
`

const VECTORS = {
  object: "list",
  data: [{ object: "embedding", index: 0, embedding: [0.25, -1] }],
  model: "upstream-vectors",
  usage: { prompt_tokens: 1, total_tokens: 1 },
}

/** A sound provider's answer to a request at this path; a stream if requested. */
export function soundAnswer(path: string, body: string): JsonBody | readonly string[] {
  if (path.endsWith("/embeddings")) return VECTORS
  if (path.endsWith("/images/generations")) return { created: 1, data: [{ b64_json: "AAAA" }] }
  if (path.endsWith("/count_tokens")) return { input_tokens: 5 }
  if (path.endsWith(":countTokens")) return { totalTokens: 5 }
  const dialect = dialectAt(path)
  const streamed = path.includes(":stream") || /"stream": ?true/.test(body)
  return streamed ? dialect.events("one two") : dialect.answer("one two")
}

/** A provider that answers everything well. */
export const answersAll: UpstreamScript = async ({ path, body }, reply) => {
  const answer = soundAnswer(path, body.toString())
  if (!Array.isArray(answer)) return reply.json(answer)
  reply.stream()
  await reply.write(answer.join(""))
  reply.end()
}
