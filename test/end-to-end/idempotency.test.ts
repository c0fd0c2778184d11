// A request repeated with the same Idempotency-Key is billed once, on every generating route: for callers, their
// balance and the provider.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { eventually } from "../stage/eventually.ts"
import { rejectionOf } from "../stage/rejection-of.ts"
import { completion, streamedWords, streamsThen } from "../stage/upstream.ts"
import {
  ASKS,
  COUNTS,
  chat,
  chatStreamed,
  IdempotencyStage,
  newIdempotencyKey,
  type RepeatableRequest,
  type StagedCaller,
} from "./idempotency-stage.ts"

let stage: IdempotencyStage
beforeAll(async () => {
  stage = await IdempotencyStage.open()
})
beforeEach(() => stage.reset())
afterAll(() => stage.close())

describe.each(ASKS)("$name", (ask) => {
  test("a key that stores answers replays the first answer byte for byte under its id, and pays once", async () => {
    const [caller, once] = [await stage.newKeeper(), newIdempotencyKey()]
    const first = await stage.send(ask, caller, once)
    expect(first.outcome).toBe("200")
    expect(first.headers.has("idempotency-replayed")).toBe(false)
    const paid = await stage.paid(caller)
    expect(paid).toBeGreaterThan(0)
    for (let n = 0; n < 2; n++) {
      const again = await stage.send(ask, caller, once)
      expect(again.text).toBe(first.text)
      expect(again.headers.get("content-type")).toBe(first.headers.get("content-type"))
      expect([again.status, again.id]).toEqual([200, first.id])
      expect(again.headers.get("idempotency-replayed")).toBe("true")
    }
    expect(stage.upstreamCalls).toBe(1)
    expect(await stage.paid(caller)).toBe(paid)
    const receipt = await stage.get(`/v1/receipts/${first.id}`, caller)
    expect(receipt).toMatchObject({ id: first.id, outcome: "settled" })
    expect(Number(receipt.paid)).toBe(paid)
  })

  test("a key that stores no answers gets 409 with the receipt's id and no retry, and pays once", async () => {
    const [caller, once] = [await stage.newCaller(), newIdempotencyKey()]
    const first = await stage.send(ask, caller, once)
    expect(first.outcome).toBe("200")
    const paid = await stage.paid(caller)
    const again = await stage.send(ask, caller, once)
    expect(again.outcome).toBe("409 idempotency_replayed")
    expect(JSON.parse(again.text).error.message).toContain(first.id)
    expect(again.headers.get("x-should-retry")).toBe("false")
    expect(again.id).not.toBe(first.id)
    expect(stage.upstreamCalls).toBe(1)
    expect(await stage.paid(caller)).toBe(paid)
  })

  test("a request with another idempotency key runs again and is charged again", async () => {
    const caller = await stage.newKeeper()
    const first = await stage.send(ask, caller, newIdempotencyKey())
    const paid = await stage.paid(caller)
    const again = await stage.send(ask, caller, newIdempotencyKey())
    expect([first.outcome, again.outcome]).toEqual(["200", "200"])
    expect(again.text).not.toBe(first.text)
    expect(stage.upstreamCalls).toBe(2)
    expect(await stage.paid(caller)).toBeCloseTo(2 * paid, 9)
  })

  test("an idempotency key with another body is a conflict, without an upstream call", async () => {
    const [caller, once] = [await stage.newKeeper(), newIdempotencyKey()]
    await stage.send(ask, caller, once)
    const paid = await stage.paid(caller)
    const other = await stage.send({ ...ask, body: { ...ask.body, user: "other" } }, caller, once)
    expect(other.outcome).toBe("409 idempotency_conflict")
    expect(other.headers.get("x-should-retry")).toBe("false")
    expect(stage.upstreamCalls).toBe(1)
    expect(await stage.paid(caller)).toBe(paid)
  })

  test("a repeat of a running request must retry, and afterwards gets the receipt", async () => {
    const [caller, once] = [await stage.newCaller(), newIdempotencyKey()]
    const { arrived, goOn } = stage.holdBack()
    const running = stage.send(ask, caller, once)
    await arrived
    const again = await stage.send(ask, caller, once)
    expect(again.outcome).toBe("409 idempotency_in_flight")
    expect(again.headers.get("retry-after")).toBe("1")
    expect(again.headers.has("x-should-retry")).toBe(false)
    goOn()
    expect((await running).outcome).toBe("200")
    expect((await stage.send(ask, caller, once)).outcome).toBe("409 idempotency_replayed")
    expect(stage.upstreamCalls).toBe(1)
  })

  test("an idempotency key whose request failed is free again, and nothing is charged", async () => {
    const [caller, once] = [await stage.newKeeper(), newIdempotencyKey()]
    for (const status of [400, 500]) {
      stage.upstream.script = (_, reply) => reply.json({ error: { message: "no", type: "x" } }, status)
      const before = stage.upstreamCalls
      expect((await stage.send(ask, caller, once)).status).toBe(status === 400 ? 400 : 503)
      expect(stage.upstreamCalls).toBeGreaterThan(before)
    }
    expect(await stage.paid(caller)).toBe(0)
    stage.reset()
    expect((await stage.send(ask, caller, once)).outcome).toBe("200")
    expect(stage.upstreamCalls).toBe(1)
    expect(await stage.paid(caller)).toBeGreaterThan(0)
  })

  test("a malformed idempotency key is rejected", async () => {
    const caller = await stage.newCaller()
    for (const malformed of ["x".repeat(256), "tab\tbed", "caf\u00e9"]) {
      const refused = await stage.send(ask, caller, malformed)
      expect(refused.outcome).toBe("400 invalid_parameter")
      expect(JSON.parse(refused.text).error.message).toContain("Idempotency-Key")
    }
    expect(stage.upstreamCalls).toBe(0)
    expect((await stage.send(ask, caller, "x".repeat(255))).outcome).toBe("200")
  })
})

describe("an idempotency key", () => {
  test("an idempotency key belongs to one API key", async () => {
    const [one, other, once] = [await stage.newKeeper(), await stage.newKeeper(), newIdempotencyKey()]
    const first = await stage.send(chat, one, once)
    const second = await stage.send(chat, other, once)
    expect([first.outcome, second.outcome]).toEqual(["200", "200"])
    expect(second.text).not.toBe(first.text)
    expect((await stage.send(chat, one, once)).text).toBe(first.text)
    expect((await stage.send(chat, other, once)).text).toBe(second.text)
    expect(stage.upstreamCalls).toBe(2)
  })

  test("an idempotency key survives the API key's rotation", async () => {
    const [caller, once] = [await stage.newKeeper(), newIdempotencyKey()]
    const first = await stage.send(chat, caller, once)
    const path = `/admin/v1/keys/${caller.id}/rotate`
    const rotated = (await (
      await stage.gateway.administer(path, { method: "POST", body: "{}" })
    ).json()) as StagedCaller
    expect(rotated.key).not.toBe(caller.key)
    expect((await stage.send(chat, rotated, once)).text).toBe(first.text)
  })

  test("an idempotency key belongs to one route and one query", async () => {
    const [caller, once] = [await stage.newKeeper(), newIdempotencyKey()]
    const [other, ...rest] = ASKS.filter(({ path }) => path.includes("enerateContent"))
    if (other) await stage.send(other, caller, once)
    expect(rest).toHaveLength(2)
    for (const ask of rest) expect((await stage.send(ask, caller, once)).outcome).toBe("409 idempotency_conflict")
    expect(stage.upstreamCalls).toBe(1)
  })

  test("an idempotency key is ignored by endpoints that generate nothing", async () => {
    const [caller, once] = [await stage.newCaller(), newIdempotencyKey()]
    for (const count of [...COUNTS, ...COUNTS]) expect((await stage.send(count, caller, once)).outcome).toBe("200")
    for (const count of COUNTS) expect((await stage.send(count, caller, "x".repeat(300))).outcome).toBe("200")
    for (const path of ["/v1/models", "/anthropic/v1/models", "/gemini/v1beta/models", "/v1/key"])
      for (let n = 0; n < 2; n++) await stage.get(path, caller, once)
    expect(await stage.paid(caller)).toBe(0)
    expect((await stage.send(chat, caller, once)).outcome).toBe("200")
  })

  test("an idempotency key is not used up by a request that is rejected before any upstream call", async () => {
    const [caller, once] = [await stage.newCaller({ balance: "0.000000001" }), newIdempotencyKey()]
    const refusals: [RepeatableRequest, string][] = [
      [{ ...chat, body: { ...chat.body, model: "test/none" } }, "400 model_not_found"],
      [{ ...chat, body: { ...chat.body, temperature: 9 } }, "400 invalid_parameter"],
      [chat, "403 insufficient_balance"],
      [chat, "403 insufficient_balance"],
    ]
    for (const [refused, outcome] of refusals) expect((await stage.send(refused, caller, once)).outcome).toBe(outcome)
    expect(stage.upstreamCalls).toBe(0)
    const body = JSON.stringify({ usd: "1" })
    await stage.gateway.administer(`/admin/v1/keys/${caller.id}/topup`, { method: "POST", body })
    expect((await stage.send(chat, caller, once)).outcome).toBe("200")
  })
})

describe("a stream", () => {
  const half = streamedWords("Half of an answer").slice(0, 4)

  test("a truncated stream is not replayed: the request runs again", async () => {
    const [caller, once] = [await stage.newKeeper(), newIdempotencyKey()]
    stage.upstream.script = streamsThen(half, (reply) => reply.cut("reset"))
    const broken = await stage.send(chatStreamed, caller, once)
    expect([broken.status, broken.text.includes("[DONE]")]).toEqual([200, false])
    expect(broken.text).toContain('"error"')
    stage.reset()
    const whole = await stage.send(chatStreamed, caller, once)
    expect(whole.text).toContain("[DONE]")
    expect(whole.headers.has("idempotency-replayed")).toBe(false)
    expect((await stage.send(chatStreamed, caller, once)).text).toBe(whole.text)
    expect(stage.upstreamCalls).toBe(1)
  })

  test("a stream still being sent counts as running", async () => {
    const [caller, once] = [await stage.newKeeper(), newIdempotencyKey()]
    const go = Promise.withResolvers<void>()
    const words = streamedWords("All of an answer")
    stage.upstream.script = streamsThen(words.slice(0, -1), async (reply) => {
      await go.promise
      await reply.write(words.at(-1) ?? "")
      reply.end()
    })
    const client = await stage.sendRaw(chatStreamed.body, caller, once)
    await client.until(/ answer"/)
    expect((await stage.send(chatStreamed, caller, once)).outcome).toBe("409 idempotency_in_flight")
    go.resolve()
    await client.until(/\[DONE\]/)
    client.leave()
    expect((await stage.send(chatStreamed, caller, once)).text).toEndWith(words.at(-1) ?? "")
    expect(stage.upstreamCalls).toBe(1)
  })

  test("a stream whose client left is charged once, and its part is not replayed", async () => {
    const [caller, once] = [await stage.newKeeper(), newIdempotencyKey()]
    stage.upstream.script = streamsThen(half, async (reply) => void (await reply.closed))
    const client = await stage.sendRaw(chatStreamed.body, caller, once)
    const [, id] = /x-request-id: (\S+)/i.exec(await client.until(/ an"/)) ?? []
    client.leave()
    await eventually(() => stage.gateway.logged("exchange").some(({ request_id }) => request_id === id))
    const paid = await stage.paid(caller)
    expect(paid).toBeGreaterThan(0)
    stage.upstream.script = stage.answer
    const again = await stage.send(chatStreamed, caller, once)
    expect(again.outcome).toBe("409 idempotency_replayed")
    expect(stage.upstreamCalls).toBe(1)
    expect(await stage.paid(caller)).toBe(paid)
  })
})

describe("stored answers", () => {
  test.each([
    [1000 * 1024, "200"],
    [1100 * 1024, "409 idempotency_replayed"],
  ])(
    "a stored answer has at most one mebibyte, and a larger one is charged once too (%p: %p)",
    async (bytes, outcome) => {
      const [caller, once] = [await stage.newKeeper(), newIdempotencyKey()]
      stage.upstream.script = (_, reply) => reply.json(completion("x".repeat(bytes)))
      const first = await stage.send(chat, caller, once)
      const again = await stage.send(chat, caller, once)
      expect([first.outcome, again.outcome]).toEqual(["200", outcome])
      expect(again.text === first.text).toBe(outcome === "200")
      expect(stage.upstreamCalls).toBe(1)
    },
  )

  test("stored answers are replayed only while the API key stores answers", async () => {
    const [caller, once] = [await stage.newKeeper(), newIdempotencyKey()]
    await stage.send(chat, caller, once)
    for (const [keep_answers, outcome] of [
      [false, "409 idempotency_replayed"],
      [true, "200"],
    ]) {
      const body = JSON.stringify({ keep_answers })
      await stage.gateway.administer(`/admin/v1/keys/${caller.id}`, { method: "PATCH", body })
      expect((await stage.send(chat, caller, once)).outcome).toBe(outcome as string)
    }
  })
})

describe("a restarted gateway", () => {
  test("a restarted gateway replays answers, and its files contain no readable answer or idempotency key", async () => {
    const [plain, keeper] = [await stage.newCaller(), await stage.newKeeper()]
    const once = `canary-4711-${newIdempotencyKey()}`
    await stage.send(chat, plain, once)
    const first = await stage.send(chatStreamed, keeper, once)
    await stage.gateway.stop()
    const files = readdirSync(stage.dataDir).map((name) => readFileSync(join(stage.dataDir, name)))
    const holds = (text: string) => files.some((bytes) => bytes.includes(text))
    expect(first.text).toContain("chat.completion.chunk")
    expect({ receipt: holds(first.id), key: holds("canary-4711"), answer: holds("chat.completion.chunk") }).toEqual({
      ...{ receipt: true, key: false, answer: false },
    })
    await stage.start()
    expect((await stage.send(chat, plain, once)).outcome).toBe("409 idempotency_replayed")
    expect((await stage.send(chatStreamed, keeper, once)).text).toBe(first.text)
    expect(stage.upstreamCalls).toBe(2)
  })

  test("a killed gateway has no running request after its restart: unanswered ones run again", async () => {
    const [caller, once] = [await stage.newCaller(), newIdempotencyKey()]
    const { arrived } = stage.holdBack()
    const lost = rejectionOf(stage.send(chat, caller, once))
    await arrived
    process.kill(stage.gateway.pid, "SIGKILL")
    await lost
    await stage.gateway.stop()
    await stage.start()
    stage.reset()
    expect((await stage.send(chat, caller, once)).outcome).toBe("200")
    expect((await stage.send(chat, caller, once)).outcome).toBe("409 idempotency_replayed")
    expect(stage.upstreamCalls).toBe(1)
  })
})
