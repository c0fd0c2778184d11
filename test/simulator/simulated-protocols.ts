// The same request in each protocol of the simulator, streamed and whole, and the markers of its answers.
import type { JsonObject } from "../../src/canonical/json.ts"

export interface SimulatedProtocol {
  readonly name: string
  readonly stream: SimulatorQuestion
  readonly whole: SimulatorQuestion
  /** A text that only the end of a stream contains. */
  readonly terminal: string
  /** The usage member of a whole answer, and the two counts in it. */
  readonly usage: readonly [member: string, input: string, output: string]
  /** The header with the request id. */
  readonly requestId: string
  /** The type or status word of an error with status 503, and of one with 429. */
  readonly unavailable: string
  readonly limited: string
}

export interface SimulatorQuestion {
  readonly path: string
  readonly body: JsonObject
}

/** The question to the model of this name. */
export function questionFor({ path, body }: SimulatorQuestion, model: string): SimulatorQuestion {
  return { path: path.replace("/models/m:", `/models/${model}:`), body: "model" in body ? { ...body, model } : body }
}

const messages = [{ role: "user", content: "Hello" }]
const contents = [{ role: "user", parts: [{ text: "Hello" }] }]
const openai = { requestId: "x-request-id", unavailable: "server_error", limited: "requests" }
const gemini = {
  whole: { path: "/v1beta/models/m:generateContent", body: { contents } },
  terminal: '"finishReason":"STOP"',
  usage: ["usageMetadata", "promptTokenCount", "candidatesTokenCount"],
  requestId: "x-request-id",
  unavailable: "UNAVAILABLE",
  limited: "RESOURCE_EXHAUSTED",
} as const

export const SIMULATED_PROTOCOLS: readonly SimulatedProtocol[] = [
  {
    name: "openai-chat",
    stream: {
      path: "/v1/chat/completions",
      body: { model: "m", messages, stream: true, stream_options: { include_usage: true } },
    },
    whole: { path: "/v1/chat/completions", body: { model: "m", messages } },
    terminal: "data: [DONE]\n\n",
    usage: ["usage", "prompt_tokens", "completion_tokens"],
    ...openai,
  },
  {
    name: "openai-responses",
    stream: { path: "/v1/responses", body: { model: "m", input: "Hello", stream: true } },
    whole: { path: "/v1/responses", body: { model: "m", input: "Hello" } },
    terminal: "event: response.completed\n",
    usage: ["usage", "input_tokens", "output_tokens"],
    ...openai,
  },
  {
    name: "anthropic-messages",
    stream: { path: "/v1/messages", body: { model: "m", max_tokens: 99, messages, stream: true } },
    whole: { path: "/v1/messages", body: { model: "m", max_tokens: 99, messages } },
    terminal: "event: message_stop\n",
    usage: ["usage", "input_tokens", "output_tokens"],
    requestId: "request-id",
    unavailable: "api_error",
    limited: "rate_limit_error",
  },
  {
    name: "gemini-generate, events",
    stream: { path: "/v1beta/models/m:streamGenerateContent?alt=sse", body: { contents } },
    ...gemini,
  },
  {
    name: "gemini-generate, array",
    stream: { path: "/v1beta/models/m:streamGenerateContent", body: { contents } },
    ...gemini,
    terminal: "\n]\n",
  },
]
