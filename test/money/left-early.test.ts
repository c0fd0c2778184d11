// A client that leaves before the first output is charged for the input.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { eventually } from "../stage/eventually.ts"
import { PROTOCOLS, sendRequest } from "./client.ts"
import { MoneyFixture, modelAt, tokensOf } from "./money-fixture.ts"

let books: MoneyFixture

beforeAll(async () => {
  books = await MoneyFixture.open()
})
afterAll(() => books.close())

const ways = PROTOCOLS.flatMap((protocol) => [false, true].map((stream) => [protocol, stream] as const))

test.each(ways)(
  "a client of %s, streamed %p, that leaves early is charged the input, as the upstream bills it",
  async (protocol, stream) => {
    const { url, key } = books.gateway
    const leaving = new AbortController()
    const model = modelAt(protocol, "first-token-ms-5000")
    const [before, logged] = [books.bills.charges.length, books.gateway.logged("exchange").length]
    const received = sendRequest({ url, key, protocol, model, stream, signal: leaving.signal }).catch(() => undefined)
    await eventually(() => books.heldNano > 0n)
    await Bun.sleep(50)
    leaving.abort()
    await received
    await eventually(() => books.bills.charges.length > before, { what: "the upstream's bill" })
    await eventually(() => books.gateway.logged("exchange").length > logged, { what: "the end of the exchange" })
    const { request_id } = books.gateway.logged("exchange").at(-1) ?? {}
    const receipt = await books.receipt(String(request_id))
    const bill = books.bills.charges.at(-1)
    expect(receipt).toMatchObject({ outcome: "settled", facts: { basis: "estimated" } })
    expect(tokensOf(receipt.cost)).toEqual({ input: bill?.input_tokens ?? Number.NaN, output: 0 })
  },
)
