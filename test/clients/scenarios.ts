// The conversations that every library holds with every model: the requests, the model's answers step by step, or the
// failure. A driver reads the client's side, the scripted host the model's side, the judge both.
import type { JsonObject, MatrixTool } from "../conformance/conversation.ts"

export interface ClientScenario {
  readonly name: string
  readonly stream: boolean
  readonly thinking: boolean
  /** The user's prompts; a second one continues the conversation after the answer to the first. */
  readonly prompts: readonly string[]
  readonly tools: readonly MatrixTool[]
  /** The model's answers in order; an answer with calls is followed by one that has their results. */
  readonly steps: readonly ScenarioStep[]
  readonly failure?: ExpectedFailure
}

type ScenarioStep = { readonly text: string } | { readonly calls: readonly ScenarioCall[] }

export interface ScenarioCall {
  readonly name: string
  readonly arguments: JsonObject
}

/** The API family of a client library, which decides the shape and some statuses of errors. */
export type ApiFamily = "openai" | "anthropic" | "gemini"

export interface ExpectedFailure {
  readonly cause: "wrong key" | "unknown model" | "refused by the provider" | "broken stream"
  /** Absent where the response had begun. */
  readonly status?: Readonly<Record<ApiFamily, number>>
  /** A part of the message that the library must show. */
  readonly message: string
}

export const UNKNOWN_MODEL = "openai/gpt-0-nonexistent"
export const REFUSAL = "The parameter `temperature` is out of range for this model."

const CITY_SCHEMA = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }

const TOOLS: readonly MatrixTool[] = [
  { name: "get_weather", description: "Get the current weather in a city.", schema: CITY_SCHEMA },
  { name: "get_time", description: "Get the current time in a city.", schema: CITY_SCHEMA },
]

/** The result of a tool, which every driver computes alike. */
export function toolResult({ name, arguments: given }: ScenarioCall): string {
  return `${name} of ${given.city}: fine`
}

function call(name: string, city: string): ScenarioCall {
  return { name, arguments: { city } }
}

const PLAIN = { stream: false, thinking: false, tools: [], prompts: ["Say hello."] } as const
const GREETING = { text: "Hello, I am a scripted model." }
const sameStatus = (status: number) => ({ openai: status, anthropic: status, gemini: status })

export const scenarios: readonly ClientScenario[] = [
  { ...PLAIN, name: "text", steps: [GREETING] },
  { ...PLAIN, name: "streamed text", stream: true, steps: [GREETING] },
  { ...PLAIN, name: "thinking", thinking: true, steps: [GREETING] },
  { ...PLAIN, name: "streamed thinking", thinking: true, stream: true, steps: [GREETING] },
  {
    ...PLAIN,
    name: "second turn after thinking",
    thinking: true,
    prompts: ["What is the capital of France?", "And of Italy?"],
    steps: [{ text: "It is Paris." }, { text: "There it is Rome." }],
  },
  {
    ...PLAIN,
    name: "streamed second turn after thinking",
    thinking: true,
    stream: true,
    prompts: ["What is the capital of France?", "And of Italy?"],
    steps: [{ text: "It is Paris." }, { text: "There it is Rome." }],
  },
  {
    ...PLAIN,
    name: "two tool turns with thinking",
    thinking: true,
    tools: TOOLS,
    prompts: ["What is the weather in Paris, and then the time?"],
    steps: [
      { calls: [call("get_weather", "Paris")] },
      { calls: [call("get_time", "Paris")] },
      { text: "The weather is fine, and so is the time." },
    ],
  },
  {
    ...PLAIN,
    name: "streamed parallel tools with thinking",
    thinking: true,
    stream: true,
    tools: TOOLS,
    prompts: ["What is the weather in Paris and in Rome, and the time in Rome?"],
    steps: [
      { calls: [call("get_weather", "Paris"), call("get_weather", "Rome"), call("get_time", "Rome")] },
      { text: "The weather is fine in both cities." },
    ],
  },
  {
    ...PLAIN,
    name: "wrong key",
    steps: [],
    failure: { cause: "wrong key", status: sameStatus(401), message: "API key" },
  },
  {
    ...PLAIN,
    name: "unknown model",
    steps: [],
    failure: { cause: "unknown model", status: { openai: 400, anthropic: 404, gemini: 404 }, message: UNKNOWN_MODEL },
  },
  {
    ...PLAIN,
    name: "request refused by the provider",
    steps: [],
    failure: { cause: "refused by the provider", status: sameStatus(400), message: REFUSAL },
  },
  {
    ...PLAIN,
    name: "stream broken by the provider",
    stream: true,
    steps: [GREETING],
    failure: { cause: "broken stream", message: "" },
  },
]
