// Recorded answers of each protocol's own vendor, which the gateway's answers are compared with.
import type { JsonObject } from "../../src/canonical/json.ts"
import { recordings, streamText } from "../recordings/recorded.ts"
import { dataIn, ENDPOINTS } from "./recorded-answers.ts"

/** The hosts whose answers are the vendor's own. */
const VENDORS: Readonly<Record<string, readonly string[]>> = {
  "openai-chat": ["openai", "azure-openai"],
  "openai-responses": ["openai", "azure-openai"],
  "anthropic-messages": ["anthropic"],
  "gemini-generate": ["gemini", "vertex"],
}

/** The member without which a body is no answer of the protocol: some recordings are of other interfaces. */
const MARKS: Readonly<Record<string, string>> = {
  "openai-chat": "choices",
  "openai-responses": "output",
  "anthropic-messages": "content",
  "gemini-generate": "candidates",
}

/** Every recorded answer of the vendor, and every event of its streams. */
export function vendorAnswers(protocol: string): JsonObject[] {
  const endpoints = Object.keys(ENDPOINTS).filter((endpoint) => ENDPOINTS[endpoint] === protocol)
  const own = endpoints
    .flatMap((endpoint) => recordings(endpoint))
    .filter(({ provider, status }) => status === 200 && VENDORS[protocol]?.includes(provider))
  return own.flatMap((recording) => {
    const text = streamText(recording)
    if (text !== undefined) return dataIn(text).filter(({ error }) => error === undefined)
    const body = recording.response.body as JsonObject
    const isAnswer = body[MARKS[protocol] ?? ""] !== undefined && (protocol === "openai-chat" || isNamedAs(body))
    return isAnswer ? [body] : []
  })
}

function isNamedAs({ object }: JsonObject): boolean {
  return object === undefined || object === "response"
}
