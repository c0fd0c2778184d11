// A stream's hold grows with it. If the balance does not cover more, the stream ends with its error frame, and the
// delivered output is charged.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { nanoOfUsd, usdOfNano } from "../../src/canonical/usd.ts"
import type { Ledger } from "../../src/ledger/ledger.ts"
import { eventually } from "../stage/eventually.ts"
import { type MoneyRequest, PROTOCOLS, type ProtocolName, sendRequest } from "./client.ts"
import { MoneyFixture, modelAt } from "./money-fixture.ts"

let books: MoneyFixture
/** The delay of the store for a larger hold. */
let extendDelayMs = 0

beforeAll(async () => {
  books = await MoneyFixture.open({ bookWith: withSlowExtensions })
})
afterAll(() => books.close())

function withSlowExtensions(ledger: Ledger): Ledger {
  const extend: Ledger["extend"] = async (...request) => {
    if (extendDelayMs > 0) await Bun.sleep(extendDelayMs)
    return ledger.extend(...request)
  }
  return new Proxy(ledger, {
    get: (target, name) => (name === "extend" ? extend : bound(target, name)),
  })
}

function bound(target: Ledger, name: string | symbol): unknown {
  const value = Reflect.get(target, name, target)
  return typeof value === "function" ? value.bind(target) : value
}

const KEYS = { requestsPerMinute: 100_000 }

/** A key of a balance of its own, in USD. */
async function keyWith(usd: string, rest: object = {}): Promise<{ id: string; text: string }> {
  const { keys } = books.gateway.gateway
  const { key, text } = await keys.createFunded({ name: "funded", ...KEYS, ...rest }, nanoOfUsd(usd) ?? 0n)
  return { id: key.id, text }
}

function leftOf(id: string): { free: bigint; held: bigint } {
  const { keys } = books.gateway.gateway
  const balance = keys.balanceOf(keys.get(id))
  return { free: balance?.freeNano ?? -1n, held: balance?.heldNano ?? -1n }
}

function asking(protocol: ProtocolName, upstream: ProtocolName, key: string): MoneyRequest {
  const { url } = books.gateway
  const text = "Say 3000 words."
  return {
    url,
    key,
    protocol,
    model: modelAt(upstream, "tokens-per-second-5000"),
    stream: true,
    text,
    maxTokens: 40_000,
  }
}

/** The initial hold, from the refusal's message. */
async function needed(protocol: ProtocolName, upstream: ProtocolName): Promise<string> {
  const { text } = await sendRequest(asking(protocol, upstream, (await keyWith("0.000000001")).text))
  return /may cost up to ([\d.]+) USD/.exec(text)?.[1] ?? text
}

/** A little more than that, but no second step. */
function justEnough(usd: string): string {
  return usdOfNano((nanoOfUsd(usd) ?? 0n) + 1_000n)
}

const WAYS = PROTOCOLS.flatMap((protocol, at) =>
  [protocol, PROTOCOLS[(at + 1) % PROTOCOLS.length] ?? protocol].map((upstream) => ({ protocol, upstream })),
)

describe.each(WAYS)("a stream of $protocol over $upstream", ({ protocol, upstream }) => {
  test("a stream's hold grows with it, and the stream is charged by its usage", async () => {
    // A hundred tokens of input, and all of the output.
    const key = await keyWith("1")
    const before = leftOf(key.id)
    const { status, text, id } = await sendRequest(asking(protocol, upstream, key.text))
    const receipt = await books.receipt(id)
    expect(status).toBe(200)
    expect(text.slice(-1000)).not.toContain("insufficient_balance")
    const cost = nanoOfUsd(receipt.cost) ?? 0n
    expect(leftOf(key.id)).toEqual({ free: before.free - cost, held: 0n })
    // More than the first step of 2,048 tokens was held, and used.
    expect((receipt.usage?.output ?? 0) + (receipt.usage?.reasoning ?? 0)).toBeGreaterThan(2900)
  })

  test("a stream ends with its error frame if the balance does not cover more", async () => {
    const key = await keyWith(justEnough(await needed(protocol, upstream)))
    const { status, text, id } = await sendRequest(asking(protocol, upstream, key.text))
    const receipt = await books.receipt(id)
    expect(status).toBe(200)
    expect(text.slice(-1000)).toContain("The balance or budget ran out while streaming")
    await eventually(() => leftOf(key.id).held === 0n)
    expect(leftOf(key.id).free).toBeGreaterThanOrEqual(0n)
    expect(receipt.outcome).toBe("settled")
    expect((receipt.usage?.output ?? 0) + (receipt.usage?.reasoning ?? 0)).toBeGreaterThan(500)
    expect(receipt.facts.attempts.at(-1)?.error).toBe("insufficient_balance")
  })

  test("a stream of a key with a strict balance is rejected at once if the balance does not cover all of it", async () => {
    const usd = justEnough(await needed(protocol, upstream))
    const key = await keyWith(usd, { strictBalance: true })
    const { status, text } = await sendRequest(asking(protocol, upstream, key.text))
    expect(status).toBe(403)
    expect(text).toContain(`${usd} USD is left`)
    expect(leftOf(key.id)).toEqual({ free: nanoOfUsd(usd) ?? -1n, held: 0n })
  })

  test("a stream delivers no more than its hold covers while the store is slow to extend it", async () => {
    const usd = justEnough(await needed(protocol, upstream))
    const key = await keyWith(usd)
    extendDelayMs = 400
    try {
      const { text, id } = await sendRequest(asking(protocol, upstream, key.text))
      const receipt = await books.receipt(id)
      expect(text.slice(-1000)).toContain("The balance or budget ran out while streaming")
      expect(nanoOfUsd(receipt.cost)).toBeLessThanOrEqual(nanoOfUsd(usd) ?? 0n)
      expect(leftOf(key.id).held).toBe(0n)
    } finally {
      extendDelayMs = 0
    }
  })
})
