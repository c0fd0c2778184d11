// The table of charges, row by row, over all four protocols, unary and streamed, relayed and translated, against the
// simulator's own bill. (Killed processes are in test/ledger/kill.test.ts and in the proof's row 1.)
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import type { SimulatedCharge } from "../../src/simulator/simulated-charge.ts"
import { eventually } from "../stage/eventually.ts"
import { type MoneyRequest, PROTOCOLS, type ProtocolName, readSome, sendRequest, usageShown } from "./client.ts"
import { MoneyFixture, modelAt, tokensOf } from "./money-fixture.ts"

let books: MoneyFixture

beforeAll(async () => {
  books = await MoneyFixture.open()
  // The thread that counts tokens takes a while to start; no test is about that.
  await sendRequest(asking({ protocol: "openai-chat", upstream: "openai-chat", stream: false }, "usage-missing"))
})
afterAll(() => books.close())
afterEach(() => eventually(() => books.heldNano === 0n, { what: "the end of every hold" }))

interface ChargeRoute {
  /** The protocols of client and upstream. */
  readonly protocol: ProtocolName
  readonly upstream: ProtocolName
  readonly stream: boolean
}

/** Each protocol to itself, and to the next. */
const WAYS: readonly ChargeRoute[] = PROTOCOLS.flatMap((protocol, at) =>
  [protocol, PROTOCOLS[(at + 2) % PROTOCOLS.length] ?? protocol].flatMap((upstream) =>
    [false, true].map((stream) => ({ protocol, upstream, stream })),
  ),
)
const STREAMS = WAYS.filter(({ stream }) => stream)

const named = ({ protocol, upstream, stream }: ChargeRoute) =>
  `${protocol}${protocol === upstream ? "" : ` over ${upstream}`}${stream ? ", streamed" : ""}`

function asking({ protocol, upstream, stream }: ChargeRoute, words = ""): MoneyRequest {
  const { url, key } = books.gateway
  return { url, key, protocol, model: modelAt(upstream, words), stream }
}

function lastBill(): SimulatedCharge {
  const bill = books.bills.charges.at(-1)
  if (!bill) throw new Error("the simulator has billed nothing")
  return bill
}

const billed = ({ input_tokens: input, output_tokens: output }: SimulatedCharge) => ({ input, output })

for (const way of WAYS) {
  describe(named(way), () => {
    test("a whole answer is charged as the upstream bills it", async () => {
      const { id, status, cost } = await sendRequest(asking(way))
      const receipt = await books.receipt(id)
      expect(status).toBe(200)
      expect(tokensOf(receipt.cost)).toEqual(billed(lastBill()))
      expect(receipt).toMatchObject({ outcome: "settled", as_booked: true, facts: { basis: "reported" } })
      expect(cost).toBe(way.stream ? null : receipt.cost)
    })

    test("a request rejected before dispatch is free, and nothing is held", async () => {
      const { id, status } = await sendRequest({ ...asking(way), model: "t/nowhere" })
      expect(status).toBe(400)
      expect(books.heldNano).toBe(0n)
      expect(await books.look(id)).toBeUndefined()
    })

    test("a failed attempt without output before a fallback is free; only the attempt that answered is charged", async () => {
      const other = PROTOCOLS.find((each) => each !== way.upstream) ?? "openai-chat"
      // A status of its own for each way: a target that failed five times is not tried before the fallback any more.
      const failing = `status-${500 + WAYS.indexOf(way)}`
      const { id, status } = await sendRequest({ ...asking(way, failing), fallback: [modelAt(other)] })
      const receipt = await books.receipt(id)
      expect(status).toBe(200)
      expect(receipt).toMatchObject({
        model: modelAt(other),
        facts: { attempts: [{ error: "upstream_unavailable" }, {}] },
      })
      expect(tokensOf(receipt.cost)).toEqual(billed(lastBill()))
    })

    test("a request whose attempts all fail without output is free", async () => {
      const { id, status } = await sendRequest(asking(way, "status-503"))
      expect(status).toBe(503)
      expect(await books.receipt(id)).toMatchObject({ outcome: "released", cost: "0" })
    })

    test("an answer without usage is charged by the local count, and marked as estimated", async () => {
      // Gemini's answers have no end but that of the stream, so nothing comes after it.
      const hasEnd = way.stream && way.upstream !== "gemini-generate"
      for (const words of ["usage-missing", ...(hasEnd ? ["usage-after-end"] : [])]) {
        const receipt = await books.receipt((await sendRequest(asking(way, words))).id)
        expect(receipt.facts.basis).toBe("estimated")
        expect(tokensOf(receipt.cost)).toEqual(billed(lastBill()))
      }
    })

    test("an answer without usage shows the charged usage, and marks it as an estimate", async () => {
      const { id, text, usageMark } = await sendRequest({ ...asking(way, "usage-missing"), usageRequested: true })
      const receipt = await books.receipt(id)
      expect(usageShown(way.protocol, text)).toEqual(tokensOf(receipt.cost))
      // A stream's head has left before anything is counted: there the receipt has the mark.
      expect(usageMark).toBe(way.stream ? null : "estimated")
    })

    test("a reported usage passes as it was reported, without a mark", async () => {
      const { text, usageMark } = await sendRequest({ ...asking(way), usageRequested: true })
      expect(usageShown(way.protocol, text)).toEqual(billed(lastBill()))
      expect(usageMark).toBeNull()
    })

    test("an answer with usage 0 is free, as reported", async () => {
      const receipt = await books.receipt((await sendRequest(asking(way, "usage-zero"))).id)
      expect(receipt).toMatchObject({ outcome: "settled", cost: "0", facts: { basis: "reported" } })
    })

    test("an answer with usage reported twice is charged once", async () => {
      const receipt = await books.receipt((await sendRequest(asking(way, "usage-twice"))).id)
      expect(receipt.facts.basis).toBe("reported")
      expect(tokensOf(receipt.cost)).toEqual(billed(lastBill()))
    })

    test.each(["usage-negative", "usage-huge", "usage-text"])(
      "an answer with %s is charged a plausible amount, and marked as suspect",
      async (words) => {
        const receipt = await books.receipt((await sendRequest(asking(way, words))).id)
        expect(receipt.facts.basis).toBe("suspect")
        expect(tokensOf(receipt.cost)).toEqual(billed(lastBill()))
      },
    )

    test("an empty answer with an error is free", async () => {
      const { id, status } = await sendRequest(asking(way, "error-after-0"))
      expect(status).toBeGreaterThanOrEqual(500)
      expect(await books.receipt(id)).toMatchObject({ outcome: "released", cost: "0" })
    })

    test("the same idempotency key is charged once", async () => {
      const headers = { "idempotency-key": crypto.randomUUID() }
      const first = await sendRequest({ ...asking(way), headers })
      const bills = books.bills.charges.length
      const again = await sendRequest({ ...asking(way), headers })
      expect([first.status, again.status]).toEqual([200, 409])
      expect(again.text).toContain(first.id)
      expect(await books.look(again.id)).toBeUndefined()
      expect(books.bills.charges.length).toBe(bills)
    })
  })
}

for (const way of STREAMS) {
  describe(named(way), () => {
    test("a failure after output is charged for the input and the delivered output", async () => {
      for (const fault of ["cut", "reset", "end", "error"]) {
        const { id, status } = await sendRequest(asking(way, `${fault}-after-12`))
        const receipt = await books.receipt(id)
        expect(status).toBe(200)
        expect(receipt.outcome).toBe("settled")
        expect(tokensOf(receipt.cost)).toEqual(billed(lastBill()))
      }
    })

    test("a client that leaves in the middle is charged for the input and the delivered output", async () => {
      const text = "Say 200 words."
      const request = asking(way, "tokens-per-second-200")
      const { id } = await readSome({ ...request, text }, (received) => received.includes("configure"))
      const receipt = await books.receipt(id)
      await eventually(() => lastBill().ended === "client-gone", { what: "the upstream's bill" })
      const { input, output } = tokensOf(receipt.cost)
      const bill = lastBill()
      // Every Gemini event reports the usage so far, and so does Anthropic's first event for the input.
      const isReported = way.upstream === "gemini-generate"
      expect(receipt.facts.basis).toBe(isReported ? "reported" : "estimated")
      expect(input).toBe(bill.input_tokens)
      // Output that had left the upstream and had not arrived here is its loss.
      expect(output).toBeGreaterThan(15)
      expect(output).toBeLessThanOrEqual(bill.output_tokens)
      expect(output).toBeGreaterThanOrEqual(bill.output_tokens - 15)
    })

    test("a client that leaves before any output is charged for the input", async () => {
      const leaving = new AbortController()
      const before = books.bills.charges.length
      const received = sendRequest({ ...asking(way, "first-token-ms-5000"), signal: leaving.signal }).catch(
        () => undefined,
      )
      await eventually(() => books.heldNano > 0n)
      await Bun.sleep(400)
      leaving.abort()
      await received
      await eventually(() => books.bills.charges.length > before, { what: "the upstream's bill" })
      await eventually(() => books.heldNano === 0n)
      expect(lastBill()).toMatchObject({ ended: "client-gone", output_tokens: 0 })
    })
  })
}

test.each(["/msgapi/v1/messages/count_tokens", "/genapi/v1beta/models/t/gemini-generate:countTokens"])(
  "%s counts tokens and is free",
  async (path) => {
    const { url, key } = books.gateway
    const isGemini = path.includes("genapi")
    const body = isGemini
      ? { contents: [{ parts: [{ text: "How many?" }] }] }
      : { model: modelAt("anthropic-messages"), messages: [{ role: "user", content: "How many?" }] }
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
    }
    const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) })
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)])
    expect(await books.look(answer.headers.get("x-request-id") ?? "")).toBeUndefined()
    expect(answer.headers.has("x-gateway-cost")).toBe(false)
  },
)

/** Upstreams that report usage after the finish reason. */
for (const upstream of ["openai-chat", "anthropic-messages", "gemini-generate"] as const) {
  for (const way of STREAMS.filter((each) => each.upstream === upstream)) {
    test(`${named(way)}: a client that leaves at the end of the answer is charged by the usage that follows`, async () => {
      const { id } = await readSome(
        asking(way, "ending-ms-400"),
        (received) => received.includes("model.") && FINISH.test(received),
      )
      const receipt = await books.receipt(id)
      expect(receipt.facts.basis).toBe("reported")
      expect(tokensOf(receipt.cost)).toEqual(billed(lastBill()))
    })
  }
}

/** The finish reason in any of the four protocols; a translated stream may hold it back until usage is known. */
const FINISH = /"finish_reason":"stop"|"stop_reason":"end_turn"|"finishReason":"STOP"|output_text.done/
