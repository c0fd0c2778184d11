// One case of the fuzz: its request and its answer. Both follow from the case's seed and number.
import { protocols } from "../../src/protocols.ts"
import { decodeSse } from "../../src/transport/streams/sse.ts"
import { allAdminRoutes } from "../administration/routes.ts"
import { RawClient } from "../stage/raw-client.ts"
import { MODEL_ROUTES } from "./model-routes.ts"
import { mutateBytes, mutateJson } from "./mutations.ts"
import type { SeededRandom } from "./seeded-random.ts"

export interface FuzzStage {
  readonly url: string
  readonly adminUrl: string
  readonly key: string
  readonly adminKey: string
}

export interface FuzzCase {
  readonly what: string
  /** The bytes sent to the gateway. */
  readonly bytes: Buffer
  /** The fault of the answer; undefined if there is none. */
  run(stage: FuzzStage): Promise<string | undefined>
}

const KINDS = [bodyCase, bodyCase, answerCase, answerCase, httpCase, administrationCase]

export function fuzzCase(number: number, random: SeededRandom, stage: FuzzStage): FuzzCase {
  return random.pick(KINDS)(random, stage, number)
}

/** Long enough for whatever the gateway answers by itself. */
const ANSWER_MS = 15_000
/** A connection that is still open then waits for more of the request. */
const RAW_MS = 100

function bodyCase(random: SeededRandom, _: FuzzStage, number: number): FuzzCase {
  const route = random.pick(MODEL_ROUTES)
  const sound = random.chance(0.5)
    ? rich(route.body(`sound ${number}`, "test/model"))
    : route.body("sound", "test/model")
  const bytes = mutateJson(sound, random)
  return {
    what: `body: ${route.what}`,
    bytes,
    run: (stage) => post(stage.url + route.path("test/model"), route.headers(stage.key), bytes),
  }
}

/** Members that most protocols read, so that there is more to get wrong. */
function rich(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return {
    ...body,
    temperature: 1,
    top_p: 0.5,
    tools: [{ type: "function", name: "f", function: { name: "f", parameters: { type: "object" } } }],
    tool_choice: "auto",
    metadata: { user_id: "u" },
    provider: { routing: "cost", fallback: ["test/model"] },
    stream_options: { include_usage: true },
    generationConfig: { temperature: 1, stopSequences: ["x"], topK: 3 },
    systemInstruction: { parts: [{ text: "be" }] },
  }
}

function answerCase(random: SeededRandom, _: FuzzStage, number: number): FuzzCase {
  const route = random.pick(MODEL_ROUTES)
  const bytes = Buffer.from(JSON.stringify(route.body(`case ${number}`, "test/model")))
  return {
    what: `answer: ${route.what}`,
    bytes,
    run: (stage) => post(stage.url + route.path("test/model"), route.headers(stage.key), bytes),
  }
}

const PATHS = [
  "/v1/models",
  "/v1/models/test/model",
  "/anthropic/v1/models?limit=2",
  "/gemini/v1beta/models?pageSize=1",
  "/healthz",
  "/admin/v1/status",
]

function httpCase(random: SeededRandom, stage: FuzzStage): FuzzCase {
  const route = random.pick(MODEL_ROUTES)
  const body = JSON.stringify(route.body("sound", "test/model"))
  const asks = random.chance(0.3)
  const first = asks ? `GET ${random.pick(PATHS)} HTTP/1.1` : `POST ${route.path("test/model")} HTTP/1.1`
  const headers = { Host: "gateway", ...route.headers(stage.key), Connection: "close" }
  const lines = Object.entries({ ...headers, ...(!asks && { "Content-Length": String(body.length) }) })
  const text = `${first}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${asks ? "" : body}`
  const bytes = mutateBytes(Buffer.from(text, "latin1"), random)
  const toAdmin = random.chance(0.2)
  return { what: "http", bytes, run: ({ url, adminUrl }) => sendBytes(toAdmin ? adminUrl : url, bytes) }
}

const IDS = [
  "x",
  "%00",
  "%2e%2e",
  "..",
  "%ff",
  "key_1",
  "openai-like",
  "a".repeat(3000),
  "%F0%9F%98%80",
  "__proto__",
  "%",
  "'; --",
]
const WISH = {
  name: "n",
  tenant: "t",
  models: ["test/*"],
  expires_at: "2030-01-01T00:00:00Z",
  grace_seconds: 1,
  api_key: "k",
  text: "server: {}",
}
const ADMIN_ROUTES = allAdminRoutes()

function administrationCase(random: SeededRandom, { key, adminKey }: FuzzStage): FuzzCase {
  const { method, path } = random.pick(ADMIN_ROUTES)
  const credential = random.pick([adminKey, adminKey, adminKey, key, "", `${adminKey}x`, "\xff"])
  const address = path.replace("{id}", random.pick(IDS)) + (random.chance(0.2) ? "?x=%" : "")
  const bytes = mutateJson(WISH, random)
  const headers = { authorization: `Bearer ${credential}`, "content-type": "application/json" }
  const hasBody = method !== "GET"
  return {
    what: `administration: ${method} ${address}`,
    bytes,
    run: (stage) =>
      call(stage.adminUrl + address, { method, headers, ...(hasBody && { body: new Uint8Array(bytes) }) }),
  }
}

function post(url: string, headers: Record<string, string>, bytes: Buffer): Promise<string | undefined> {
  return call(url, { method: "POST", headers, body: new Uint8Array(bytes) })
}

async function call(url: string, init: RequestInit): Promise<string | undefined> {
  try {
    const response = await fetch(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(ANSWER_MS) })
    const text = Buffer.from(await response.arrayBuffer()).toString("latin1")
    if (response.status === 500 || text.includes('"internal_error"'))
      return `status ${response.status}: ${text.slice(0, 300)}`
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return undefined
    return streamEnd(new URL(url).pathname, text) !== "neither"
      ? undefined
      : `a stream without a proper end: ${text.slice(-300)}`
  } catch (thrown) {
    return `no whole answer: ${thrown}`
  }
}

const READING = {
  operation: "",
  model: "",
  stream: true,
  framing: "events",
  usageRequested: true,
  outputLimits: { candidates: 1 },
  routing: { fallback: [] },
  headers: {},
} as const

export type StreamEnd = "whole" | "error" | "neither"

/** Reads the end of a stream answered at this path. */
export function streamEnd(path: string, text: string): StreamEnd {
  const protocol = protocols.find(({ endpoints }) =>
    endpoints.some(
      ({ method, paths }) => method === "POST" && paths.some((each) => path.startsWith(each.replace(/\{\w+\}/, ""))),
    ),
  )
  const observer = protocol?.relayStream({ model: "test/model", reading: READING }).observer
  const frames = decodeSse()
  const seen = [...frames.push(text), ...frames.finish()].flatMap((frame) => observer?.push(frame) ?? [])
  const end = [...seen, ...(observer?.finish() ?? [])].find(
    ({ type }) => type === "stream-end" || type === "stream-error",
  )
  if (!end) return "neither"
  return end.type === "stream-end" ? "whole" : "error"
}

async function sendBytes(url: string, bytes: Buffer): Promise<string | undefined> {
  const client = await RawClient.connect(url)
  await client.send(bytes)
  await Promise.race([client.closed, Bun.sleep(RAW_MS)])
  client.leave()
  const text = client.received
  return / 500 |"internal_error"/.test(text) ? text.slice(0, 500) : undefined
}
