// OpenAI's own client library with an Idempotency-Key: a lost answer that is requested again is charged once. The
// library sends such a key only if its user sets one, and then with each retry.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { eventually } from "../stage/eventually.ts"
import { rejectionOf } from "../stage/rejection-of.ts"
import { HI, VERSIONS } from "./client-versions.ts"
import { IdempotencyStage, newIdempotencyKey, type StagedCaller } from "./idempotency-stage.ts"

/** The cost of the stage's answers: 9 tokens in, 3 out. */
const PRICE = 0.000_015

let stage: IdempotencyStage
beforeAll(async () => {
  stage = await IdempotencyStage.open()
})
beforeEach(() => stage.reset())
afterAll(() => stage.close())

const once = () => ({ headers: { "Idempotency-Key": newIdempotencyKey() } })

describe.each(VERSIONS)("$name", ({ OpenAI }) => {
  /** A client that loses its first answers after they were given whole, and tries again by itself. */
  function clientOf({ key: apiKey }: StagedCaller, loses = 1) {
    const seen = { keys: [] as (string | null)[] }
    const client = new OpenAI({
      apiKey,
      baseURL: `${stage.gateway.url}/v1`,
      maxRetries: 2,
      fetch: async (url, init) => {
        seen.keys.push(new Headers(init?.headers as Headers).get("idempotency-key"))
        const response = await fetch(url as string, init as RequestInit)
        if (seen.keys.length > loses) return response
        await response.arrayBuffer()
        throw new TypeError("the connection was lost")
      },
    })
    return { client, seen }
  }

  test("a client gets a lost answer when it retries, and pays once", async () => {
    const caller = await stage.newKeeper()
    const [{ client, seen }, options] = [clientOf(caller), once()]
    const { choices } = await client.chat.completions.create(HI, options)
    expect(choices[0]?.message.content).toBe(stage.text)
    expect(seen.keys).toEqual(Array(2).fill(options.headers["Idempotency-Key"]))
    expect([stage.upstreamCalls, await stage.paid(caller)]).toEqual([1, PRICE])
  })

  test("a client gets a lost stream again", async () => {
    const caller = await stage.newKeeper()
    const { client, seen } = clientOf(caller)
    let text = ""
    for await (const { choices } of await client.chat.completions.create({ ...HI, stream: true }, once()))
      text += choices[0]?.delta.content ?? ""
    expect(text).toBe(stage.text)
    expect([seen.keys.length, stage.upstreamCalls]).toEqual([2, 1])
  })

  test("a client gets the receipt if answers are not stored, stops retrying, and pays once", async () => {
    const caller = await stage.newCaller()
    const { client, seen } = clientOf(caller)
    const error = await rejectionOf(client.chat.completions.create(HI, once()))
    expect(error).toBeInstanceOf(OpenAI.ConflictError)
    expect(error).toMatchObject({ status: 409, code: "idempotency_replayed" })
    expect(seen.keys).toHaveLength(2)
    expect([stage.upstreamCalls, await stage.paid(caller)]).toEqual([1, PRICE])
  })

  test("a client waits for a running request with the same key, and gets its answer", async () => {
    const [{ client }, options] = [clientOf(await stage.newKeeper(), 0), once()]
    const inFlight = () =>
      stage.gateway.logged("exchange").filter(({ error_code }) => error_code === "idempotency_in_flight").length
    const before = inFlight()
    const { arrived, goOn } = stage.holdBack()
    const first = client.chat.completions.create(HI, options)
    await arrived
    const second = client.chat.completions.create(HI, options)
    await eventually(() => inFlight() > before, { what: "a refusal of the second" })
    goOn()
    expect(await second).toEqual(await first)
    expect(stage.upstreamCalls).toBe(1)
  })

  test("a client sends no idempotency key by default, so a retry after a lost answer is charged again", async () => {
    const caller = await stage.newKeeper()
    const { client, seen } = clientOf(caller)
    await client.chat.completions.create(HI)
    expect(seen.keys).toEqual([null, null])
    expect([stage.upstreamCalls, await stage.paid(caller)]).toEqual([2, 2 * PRICE])
  })
})
