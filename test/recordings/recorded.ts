// Exchanges with providers: the hand-made ones in `handmade/`, or instead of them real ones, recorded elsewhere and not
// part of this repository, if TRIVIUM_TEST_WIRE names their folder.
import { test } from "bun:test"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { isObject, type JsonObject } from "../../src/canonical/json.ts"
import { encodeByteText } from "../../src/transport/json/byte-text.ts"
import { encodeSse } from "../../src/transport/streams/sse.ts"

export interface RecordedExchange {
  readonly source: string
  readonly n?: number
  readonly provider: string
  readonly status: number
  readonly request?: { readonly url?: string; readonly headers?: Record<string, string>; readonly body?: JsonObject }
  readonly response: { readonly body: string | JsonObject }
}

const wire = process.env.TRIVIUM_TEST_WIRE
/** Whether the exchanges are real ones. */
export const isReal = wire !== undefined && existsSync(join(wire, "recordings"))
const folder = wire !== undefined && isReal ? join(wire, "recordings") : join(import.meta.dir, "handmade")

/** Skipped without real recordings: no hand-made exchange can show the same. */
export const recorded = test.skipIf(!isReal)

/** The least number of exchanges that a test must have met: of hand-made ones, one. */
export function sampleSize(real: number): number {
  return isReal ? real : 1
}

/** The exchanges of one interface with all providers, such as `chat`. */
export function recordings(endpoint: string): RecordedExchange[] {
  const read = known.get(endpoint) ?? readRecordings(endpoint)
  known.set(endpoint, read)
  return read
}

const known = new Map<string, RecordedExchange[]>()

function readRecordings(endpoint: string): RecordedExchange[] {
  const textsOf = (ending: string) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(`.${endpoint}.${ending}`))
      .map((name) => readFileSync(join(folder, name), "utf8"))
  if (!isReal) return textsOf("json").flatMap((text) => JSON.parse(text))
  return textsOf("jsonl").flatMap((text) =>
    text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  )
}

/** A streamed answer as the bytes it came in; undefined for one that came whole. */
export function streamText({ response: { body } }: RecordedExchange): string | undefined {
  if (typeof body === "string") return body.includes("data:") ? encodeByteText(body) : undefined
  // A chunk that was kept as text was not JSON, which is the recorder's doing.
  if (!isObject(body) || !Array.isArray(body.chunks) || !body.chunks.every(isObject)) return undefined
  // Some contain the streams of several turns, one after the other.
  const last = body.chunks.findIndex(({ type }) => typeof type === "string" && TERMINAL.includes(type))
  const chunks = last < 0 ? body.chunks : body.chunks.slice(0, last + 1)
  return encodeByteText(chunks.map(frameOf).join(""))
}

const TERMINAL = ["message_stop", "response.completed", "response.incomplete", "response.failed"]

/** Some streams were recorded as events, without their frames. */
function frameOf(chunk: JsonObject): string {
  const event = typeof chunk.type === "string" ? { event: chunk.type } : {}
  return encodeSse({ ...event, data: JSON.stringify(chunk) })
}

/** A whole answer; its own bytes are not kept, so it is written anew. */
export function wholeText({ response: { body } }: RecordedExchange): string | undefined {
  return isObject(body) && !Array.isArray(body.chunks) ? encodeByteText(JSON.stringify(body)) : undefined
}
