// Real exchanges, recorded elsewhere and not part of this repository: TRIVIUM_TEST_WIRE names their folder.
import { expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fold } from "../../src/canonical/fold.ts"
import type { Json, JsonObject } from "../../src/canonical/json.ts"
import type { StreamEvent } from "../../src/canonical/stream.ts"
import { totalTokens } from "../../src/canonical/usage.ts"
import { readRequest } from "../../src/protocols/openai-chat/request.ts"
import { decodeStream, relayStream } from "../../src/protocols/openai-chat/stream.ts"
import { decodeUsage } from "../../src/protocols/openai-chat/usage.ts"
import { encodeByteText } from "../../src/transport/byte-text.ts"
import { decodeSse } from "../../src/transport/sse.ts"

interface Recording {
  readonly source: string
  readonly provider: string
  readonly status: number
  readonly request?: { readonly body?: JsonObject }
  readonly response: { readonly body: string | JsonObject }
}

const wire = process.env.TRIVIUM_TEST_WIRE ?? ""
const folder = join(wire, "recordings")
const available = wire !== "" && existsSync(folder)

const recordings: Recording[] = !available
  ? []
  : readdirSync(folder)
      .filter((name) => name.endsWith(".chat.jsonl"))
      .flatMap((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"))
      .map((line) => JSON.parse(line))
const good = recordings.filter(({ status }) => status === 200)
const streams = good.flatMap(({ source, provider, response: { body } }) =>
  typeof body === "string" && body.includes("data:") ? [{ source, provider, text: encodeByteText(body) }] : [],
)

/** Skipped where nobody has such recordings at hand. */
const recorded = test.skipIf(!available)

function decode(pieces: readonly string[]): StreamEvent[] {
  const sse = decodeSse()
  const decoder = decodeStream()
  const frames = [...pieces.flatMap((piece) => sse.push(piece)), ...sse.finish()]
  return [...frames.flatMap((frame) => decoder.push(frame)), ...decoder.finish()]
}

recorded("every recorded chat request that a provider took passes our checks", () => {
  const refused = good.flatMap(({ source, request }) => {
    try {
      // OpenRouter's own `provider` object is not ours.
      const { provider: _, ...body } = request?.body ?? {}
      if (body.messages) readRequest(body)
      return []
    } catch (error) {
      return [`${source}: ${error}`]
    }
  })
  expect(refused).toEqual([])
})

recorded("every recorded stream is read to its end, and relayed with nothing but the model changed", () => {
  expect(streams.length).toBeGreaterThan(20)
  for (const { source, text } of streams) {
    const events = decode([text])
    const end = /^data: \{"error"/m.test(text) ? "stream-error" : "stream-end"
    expect([source, events.find(({ type }) => type === end)?.type]).toEqual([source, end])
    expect(fold(events).candidates.length).toBeGreaterThan(0)
    const relay = relayStream({ model: "a/b", usageAsked: true })
    const sse = decodeSse()
    const passed = [...sse.push(text), ...sse.finish()].map((frame) => relay.edit(frame)).join("")
    const bare = (said: string) => said.replace(/"model":\s*"[^"]*"/g, '"model":""').trim()
    expect(bare(passed)).toBe(bare(text))
  }
})

recorded("no recorded stream says anything else when its bytes are cut elsewhere", () => {
  for (const { text } of streams) {
    const whole = JSON.stringify(decode([text]))
    for (const size of [1, 7, 100]) {
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []
      expect(JSON.stringify(decode(pieces))).toBe(whole)
    }
  }
})

recorded("the buckets of every recorded usage add up to its total", () => {
  const wrong = good.flatMap(({ source, response: { body } }) => {
    const usage = usageIn(body)
    const decoded = decodeUsage(usage)
    if (!decoded || typeof usage?.total_tokens !== "number") return []
    // A cache write that OpenRouter reports beside the prompt is in no total.
    const besides = totalTokens({ ...decoded, cacheWrite: 0 })
    return [totalTokens(decoded), besides].includes(usage.total_tokens) ? [] : [`${source}: ${JSON.stringify(usage)}`]
  })
  expect(wrong).toEqual([])
})

function usageIn(body: string | JsonObject): JsonObject | undefined {
  if (typeof body !== "string") return body.usage as JsonObject | undefined
  const [, last] = [...body.matchAll(/^data: (\{.*"usage":\s*\{.*)$/gm)].at(-1) ?? []
  return last === undefined ? undefined : ((JSON.parse(last) as { usage: Json }).usage as JsonObject)
}
