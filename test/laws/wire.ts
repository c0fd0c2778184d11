// Requests of clients: hand-made, or of real ones if TRIVIUM_TEST_WIRE names a folder with them. The vendors' published
// descriptions are in that folder only.
import { test } from "bun:test"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { isObject, type Json, type JsonObject } from "../../src/canonical/json.ts"
import type { RequestEnvelope } from "../../src/protocols/contract.ts"
import { recordings } from "../recordings/recorded.ts"
import { DescriptionCheck } from "./description-check.ts"

const folder = process.env.TRIVIUM_TEST_WIRE ?? "(TRIVIUM_TEST_WIRE is not set)"
const available = existsSync(join(folder, "specs"))

/** Skipped without the descriptions. */
export const described = test.skipIf(!available)

/** Which schema of which description a request must fit. */
const DESCRIPTIONS: Readonly<Record<string, readonly { file: string; schema: string }[]>> = {
  "openai-chat": [{ file: "openai.yaml", schema: "CreateChatCompletionRequest" }],
  "openai-responses": [
    { file: "openai.yaml", schema: "CreateResponse" },
    { file: "openresponses.json", schema: "CreateResponseBody" },
  ],
  "anthropic-messages": [{ file: "anthropic.json", schema: "CreateMessageParams" }],
  "gemini-generate": [{ file: "gemini.json", schema: "GenerateContentRequest" }],
}

const read = new Map<string, DescriptionCheck>()

function checkOf(file: string): DescriptionCheck {
  const known = read.get(file)
  if (known) return known
  const text = readFileSync(join(folder, "specs", file), "utf8")
  // Bun reads three megabytes of YAML twenty times faster than the package does.
  const check = new DescriptionCheck((file.endsWith(".yaml") ? Bun.YAML.parse(text) : JSON.parse(text)) as JsonObject)
  read.set(file, check)
  return check
}

/** The faults of a body by its receiver's published description; empty without one. */
export function descriptionFaults(protocol: string, body: Json): string[] {
  if (!available) return []
  return (DESCRIPTIONS[protocol] ?? []).flatMap(({ file, schema }) =>
    checkOf(file)
      .faults(body, schema)
      .map((fault) => `${file} ${fault}`),
  )
}

export interface ClientRequest {
  readonly source: string
  readonly protocol: string
  readonly body: JsonObject
  readonly envelope: RequestEnvelope
}

/** Every request that generates: those of recorded exchanges that were answered, and those that were captured. */
export function clientRequests(): ClientRequest[] {
  return [...recorded(), ...(available ? captured() : [])]
}

const ENDPOINTS: Readonly<Record<string, string>> = {
  chat: "openai-chat",
  responses: "openai-responses",
  messages: "anthropic-messages",
  generateContent: "gemini-generate",
  streamGenerateContent: "gemini-generate",
}

function recorded(): ClientRequest[] {
  return Object.entries(ENDPOINTS).flatMap(([endpoint, protocol]) =>
    recordings(endpoint).flatMap(({ source, provider, status, request }) => {
      // OpenRouter's own `provider` object is not ours.
      const { provider: _, ...body } = request?.body ?? {}
      if (status !== 200 || !(body.messages ?? body.input ?? body.contents)) return []
      return [{ source: `${provider} ${source}`, protocol, body, envelope: envelopeOf(protocol, request?.url ?? "") }]
    }),
  )
}

const PATHS: readonly (readonly [RegExp, string])[] = [
  [/\/chat\/completions$/, "openai-chat"],
  [/\/responses$/, "openai-responses"],
  [/\/messages(\?|$)/, "anthropic-messages"],
  [/:(stream)?[gG]enerateContent/, "gemini-generate"],
]

function captured(): ClientRequest[] {
  const files = readdirSync(join(folder, "client-requests")).map((name) => join(folder, "client-requests", name))
  const sent = files.flatMap((file): JsonObject[] => {
    const text = readFileSync(file, "utf8")
    return file.endsWith("l")
      ? text
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line))
      : JSON.parse(text)
  })
  return sent.flatMap(({ label, client, url, body, body_skeleton }) => {
    const [, protocol] = PATHS.find(([path]) => path.test(String(url))) ?? []
    const content: unknown = typeof body === "string" && protocol ? JSON.parse(body) : body_skeleton
    if (protocol === undefined || !isObject(content)) return []
    return [{ source: String(label ?? client), protocol, body: content, envelope: envelopeOf(protocol, String(url)) }]
  })
}

function envelopeOf(protocol: string, url: string): RequestEnvelope {
  const [path = "", query = ""] = url.split("?")
  const [, rest = ""] = /\/(?:v1|v1alpha|v1beta|v1beta1)\/(.*)$/.exec(path) ?? []
  const headers = protocol === "anthropic-messages" ? { "anthropic-version": "2023-06-01" } : {}
  return { does: "generate", rest: protocol === "gemini-generate" ? rest : "", query, headers: { ...headers } }
}
