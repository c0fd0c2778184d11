// Hedged requests, as a caller sees them: an answer in time, charged once.
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import OpenAI from "openai"
import type { Ledger } from "../../src/ledger/ledger.ts"
import { eventually } from "../stage/eventually.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import {
  completion,
  ScriptedUpstream,
  streamedWords,
  streams,
  type UpstreamReply,
  type UpstreamScript,
} from "../stage/upstream.ts"

const HI = { model: "t/both", messages: [{ role: "user" as const, content: "Hi" }] }
const HEDGED = { ...HI, provider: { hedge: true } }

let slow: ScriptedUpstream
let quick: ScriptedUpstream
let gateway: InProcessGateway
let books: Ledger
/** The delay before the second target: the 90th percentile of the first one's answers. */
const USUAL_MS = 60

beforeEach(async () => {
  slow = await ScriptedUpstream.start()
  quick = await ScriptedUpstream.start()
  const provider = (upstream: ScriptedUpstream) =>
    `{ type: openai-compatible, protocols: [openai-chat], base_url: "${upstream.baseUrl}", api_key: "k" }`
  const config = `
admin: { port: 0 }
providers:
  slow: ${provider(slow)}
  quick: ${provider(quick)}
models:
  - id: t/both
    pricing: { input: "1", output: "2" }
    targets: [{ provider: slow, model: m }, { provider: quick, model: m, priority: 2 }]
`
  const bookWith = (ledger: Ledger) => {
    books = ledger
    return ledger
  }
  gateway = InProcessGateway.start({ config, bookWith })
})
afterEach(async () => {
  await gateway.stop()
  await slow.stop()
  await quick.stop()
})

const answerOf = (text: string) => completion(text)
const after =
  (ms: number, answer: (reply: UpstreamReply) => void): UpstreamScript =>
  async (_, reply) => {
    await Bun.sleep(ms)
    answer(reply)
  }
/** Answers only after the second target was called, however late the hedge is. */
const afterHedge =
  (answer: (reply: UpstreamReply) => void): UpstreamScript =>
  async (_, reply) => {
    const before = quick.requests.length
    await eventually(() => quick.requests.length > before, { what: "the hedge" })
    await Bun.sleep(USUAL_MS)
    answer(reply)
  }
const never: UpstreamScript = () => {}

/** So that it is known how long the first target usually takes. */
async function warmUp(stream = false): Promise<void> {
  slow.script = stream ? streamed("warm") : after(USUAL_MS, (reply) => reply.json(answerOf("warm")))
  for (let each = 0; each < 5; each++) await (await gateway.chat({ ...HI, stream })).text()
  slow.requests.length = 0
}

const streamed =
  (text: string, afterMs = USUAL_MS): UpstreamScript =>
  async (request, reply) => {
    await Bun.sleep(afterMs)
    await streams(streamedWords(text))(request, reply)
  }

async function ask(body: object): Promise<{ status: number; text: string; headers: Headers }> {
  const answer = await gateway.chat(body)
  return { status: answer.status, text: await answer.text(), headers: answer.headers }
}

async function receiptOf(headers: Headers) {
  const id = headers.get("x-request-id")
  const authorization = `Bearer ${gateway.key}`
  const answer = await fetch(`${gateway.url}/v1/receipts/${id}`, { headers: { authorization } })
  return (await answer.json()) as { outcome: string; provider: string; facts: { attempts: object[] } }
}

describe("a hedged request", () => {
  test("a hedged request is answered by another target if the first is slower than usual, and charged once", async () => {
    await warmUp()
    let wasLetGo: Promise<number> | undefined
    slow.script = (_, reply) => {
      wasLetGo = reply.closed
    }
    quick.script = (_, reply) => reply.json(answerOf("quick"))
    const { status, text, headers } = await ask(HEDGED)
    expect(status).toBe(200)
    expect(text).toContain("quick")
    expect(headers.get("x-gateway-provider")).toBe("quick")
    expect(headers.get("x-gateway-attempts")).toBe("2")
    expect([slow.requests.length, quick.requests.length]).toEqual([1, 1])
    // The connection to the one that was let go is closed, and not left to the time-out.
    await wasLetGo
    expect(await receiptOf(headers)).toMatchObject({
      outcome: "settled",
      provider: "quick",
      facts: { attempts: [{ provider: "slow", outrun: true }, { provider: "quick" }] },
    })
    expect(await books.verify()).toEqual([])
  })

  test("a request is not hedged if it opts out or the first target is in time, and the first may still win", async () => {
    await warmUp()
    slow.script = after(4 * USUAL_MS, (reply) => reply.json(answerOf("slow")))
    expect((await ask(HI)).headers.get("x-gateway-attempts")).toBe("1")
    slow.script = (_, reply) => reply.json(answerOf("slow"))
    expect((await ask(HEDGED)).headers.get("x-gateway-attempts")).toBe("1")
    expect(quick.requests).toHaveLength(0)
    slow.script = afterHedge((reply) => reply.json(answerOf("slow")))
    quick.script = never
    const { text, headers } = await ask(HEDGED)
    expect(text).toContain("slow")
    expect(headers.get("x-gateway-provider")).toBe("slow")
    const { facts, provider } = await receiptOf(headers)
    expect(provider).toBe("slow")
    expect(facts.attempts).toEqual([expect.objectContaining({ provider: "quick", outrun: true }), expect.anything()])
  })

  test("a hedged request is answered by the second target if the first fails, and by the first's rejection if it rejects", async () => {
    await warmUp()
    slow.script = afterHedge((reply) => reply.json({ error: { message: "no" } }, 503))
    quick.script = after(6 * USUAL_MS, (reply) => reply.json(answerOf("quick")))
    const answered = await ask(HEDGED)
    expect(answered.text).toContain("quick")
    expect((await receiptOf(answered.headers)).facts.attempts).toMatchObject([
      { provider: "slow", error: "upstream_unavailable" },
      { provider: "quick" },
    ])
    slow.script = afterHedge((reply) => reply.json({ error: { message: "`stop` is too long" } }, 400))
    quick.script = never
    expect(await ask(HEDGED)).toMatchObject({ status: 400, text: expect.stringContaining("too long") })
  })

  test("a key's hedging option applies unless the request has its own", async () => {
    await warmUp()
    const [key] = gateway.gateway.keys.list()
    gateway.gateway.keys.update(key?.id ?? "", { hedge: true })
    slow.script = after(4 * USUAL_MS, (reply) => reply.json(answerOf("slow")))
    quick.script = (_, reply) => reply.json(answerOf("quick"))
    expect((await ask(HI)).text).toContain("quick")
    expect((await ask({ ...HI, provider: { hedge: false } })).text).toContain("slow")
  })
})

describe("a hedged stream", () => {
  test("a hedged stream comes from the second target from its first text on", async () => {
    await warmUp(true)
    slow.script = streamed("slow", 30 * USUAL_MS)
    quick.script = streamed("quick", 0)
    const client = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
    let text = ""
    const stream = await client.chat.completions.create({ ...HEDGED, stream: true } as typeof HI & { stream: true })
    for await (const each of stream) text += each.choices[0]?.delta.content ?? ""
    expect(text).toBe("quick")
    expect([slow.requests.length, quick.requests.length]).toEqual([1, 1])
    await Bun.sleep(32 * USUAL_MS)
    expect(await books.verify()).toEqual([])
  })
})

test("hedges draw on the retry budget and do not double the load of a slow provider", async () => {
  await warmUp()
  slow.script = after(10 * USUAL_MS, (reply) => reply.json(answerOf("slow")))
  quick.script = after(0, (reply) => reply.json(answerOf("quick")))
  const all = await Promise.all(Array.from({ length: 200 }, () => ask(HEDGED)))
  expect(all.every(({ status }) => status === 200)).toBe(true)
  expect(quick.requests.length).toBeGreaterThan(5)
  expect(quick.requests.length).toBeLessThan(90)
})
