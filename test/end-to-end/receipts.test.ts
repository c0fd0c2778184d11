// Receipts: the cost of a request and its calculation, for every key of its tenant, for the operator, and on the
// command line.

import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { Json } from "../../src/canonical/json.ts"
import { bookCall, COST, FACTS, PRICING, withOfflineLedger } from "../administration/offline-store.ts"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { KeyFolder } from "../stage/keys.ts"

const MODEL = "openai/gpt-4o-mini"
const HI = { model: MODEL, messages: [{ role: "user", content: "hi" }], max_tokens: 100 }
const TIER = { aboveInputTokens: 1000, input: "5", output: "20" }

type ReceiptJson = Record<string, Json>

const folder = new KeyFolder()
const keys = { mine: "", sister: "", stranger: "" }
let keyId = ""
let gateway: RunningGateway

beforeAll(async () => {
  folder.within((store) => {
    const mine = store.create({ name: "mine", tenant: "acme" })
    keyId = mine.key.id
    keys.mine = mine.text
    keys.sister = store.create({ name: "sister", tenant: "acme" }).text
    keys.stranger = store.create({ name: "stranger", tenant: "other" }).text
  })
  const who = { tenant: "acme", keyId }
  await withOfflineLedger({ dataDir: folder.path, now: () => 1000 }, async (ledger) => {
    await bookCall(ledger, { requestId: "old", ...who })
    expect(await ledger.dropReceiptsBefore(2000, 1)).toBe(1)
  })
  await withOfflineLedger({ dataDir: folder.path }, async (ledger) => {
    await bookCall(ledger, { requestId: "plain", ...who })
    await bookCall(ledger, { requestId: "tiered", ...who, pricing: { ...PRICING, tiers: [TIER] } })
    await bookCall(ledger, { requestId: "drawn", ...who, usage: {}, images: 3, pricing: { perImage: "0.04" } })
    await bookCall(ledger, { requestId: "wrong", ...who, chargeNano: 1n })
    await ledger.hold({ requestId: "failed", ...who, amountNano: 5n, at: Date.now() })
    await ledger.release("failed", { facts: { ...FACTS, losses: [] } })
    await ledger.hold({ requestId: "killed", ...who, amountNano: 5_000_000n, at: Date.now() })
    ledger.note("killed", { lowerBoundNano: 2_000_000n })
  })
  gateway = await RunningGateway.start({ dataDir: folder.path, key: keys.mine })
})
afterAll(async () => {
  await gateway.stop()
  folder.remove()
})

async function receipt(id: string, headers: Record<string, string> = { authorization: `Bearer ${keys.mine}` }) {
  const response = await fetch(`${gateway.url}/v1/receipts/${id}`, { headers })
  return { status: response.status, body: (await response.json()) as ReceiptJson }
}

const run = (...words: string[]) => runCommand([...words, "--data", folder.path], { folder: folder.path })

describe("a receipt", () => {
  test("a receipt shows the booked amounts, the usage, the prices, the formula and the facts", async () => {
    const { status, body } = await receipt("plain")
    expect(status).toBe(200)
    expect(body).toEqual({
      id: "plain",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as never,
      tenant: "acme",
      key: keyId,
      outcome: "settled",
      cost: COST,
      paid: COST,
      written_off: "0",
      in_suspense: "0",
      model: "openai/gpt-4o",
      provider: "openai",
      usage: { input: 1200, cache_read: 800, output: 301 },
      price_version: expect.stringMatching(/^[0-9a-f]{16}$/) as never,
      prices: { input: "2.5", output: "10", cache_read: "1.25" },
      formula: [
        { bucket: "input", units: 1200, price: "2.5", tier: null, amount: "0.003" },
        { bucket: "cache_read", units: 800, price: "1.25", tier: null, amount: "0.001" },
        { bucket: "output", units: 301, price: "10", tier: null, amount: "0.00301" },
      ],
      recomputed_cost: COST,
      as_booked: true,
      facts: FACTS,
    })
  })

  test("a receipt names the price tier that applied", async () => {
    const { body } = await receipt("tiered")
    expect(body.prices).toMatchObject({ tiers: [{ above_input_tokens: 1000, input: "5", output: "20" }] })
    expect(body.formula).toContainEqual({ bucket: "output", units: 301, price: "20", tier: 1000, amount: "0.00602" })
    expect(body).toMatchObject({ cost: "0.01302", recomputed_cost: "0.01302", as_booked: true })
  })

  test("a receipt of images shows their number", async () => {
    const { body } = await receipt("drawn")
    expect(body).toMatchObject({ cost: "0.12", usage: { images: 3 }, prices: { per_image: "0.04" }, as_booked: true })
    expect(body.formula).toEqual([{ bucket: "per_image", units: 3, price: "0.04", tier: null, amount: "0.12" }])
  })

  test("a receipt marks a booked amount that differs from its prices", async () => {
    const { body } = await receipt("wrong")
    expect(body).toMatchObject({ cost: "0.000000001", recomputed_cost: COST, as_booked: false })
  })

  test("a receipt of a failed request is free, and lists the attempted providers", async () => {
    const { body } = await receipt("failed")
    expect(body).toMatchObject({ outcome: "released", cost: "0", paid: "0", model: null, formula: [], as_booked: null })
    expect(body.facts).toMatchObject({ attempts: FACTS.attempts, requested_model: "gpt-4o" })
  })

  test("a receipt whose facts were deleted still shows the booked amounts", async () => {
    const { body } = await receipt("old")
    expect(body).toMatchObject({
      id: "old",
      key: keyId,
      cost: COST,
      paid: COST,
      facts: null,
      usage: null,
      prices: null,
    })
  })

  test("a receipt of a request during which the gateway crashed shows the cost and the amount in suspense", async () => {
    const { body } = await receipt("killed")
    expect(body).toMatchObject({
      outcome: "recovered",
      cost: "0.002",
      paid: "0.005",
      in_suspense: "0.003",
      facts: null,
    })
  })
})

describe("access to receipts", () => {
  test("a receipt is visible to every key of its tenant, in any key header and in the query", async () => {
    expect((await receipt("plain", { authorization: `Bearer ${keys.sister}` })).body).toMatchObject({ key: keyId })
    expect((await receipt("plain", { "x-api-key": keys.sister })).status).toBe(200)
    expect((await receipt("plain", { "x-goog-api-key": keys.sister })).status).toBe(200)
    expect((await receipt(`plain?key=${keys.sister}`, {})).status).toBe(200)
  })

  test("a receipt is not visible without a key, and another tenant's is reported as not found", async () => {
    expect((await receipt("plain", {})).status).toBe(401)
    const stranger = { authorization: `Bearer ${keys.stranger}` }
    const others = await receipt("plain", stranger)
    expect(others).toMatchObject({ status: 404, body: { error: { code: "resource_not_found" } } })
    const unknown = await receipt("plain0", stranger)
    expect(JSON.stringify(others.body).replace("plain", "plain0")).toBe(JSON.stringify(unknown.body))
  })

  test.each(["%2e%2e", "plain/..", "%00", "'; --", "x".repeat(3000), "__proto__"])(
    "%p is no receipt id",
    async (id) => {
      expect((await receipt(id)).status).toBe(404)
    },
  )

  test("a top-up has no receipt", async () => {
    const made = await gateway.administer("/admin/v1/keys", { method: "POST", body: '{"name":"rich","balance":"1"}' })
    const { id } = (await made.json()) as { id: string }
    expect((await gateway.administer(`/admin/v1/receipts/${encodeURIComponent(`${id} opening`)}`)).status).toBe(404)
  })
})

describe("receipts by request id", () => {
  test.each([false, true])("every answer's x-request-id is a receipt's id, streamed: %p", async (stream) => {
    const response = await gateway.chat({ ...HI, stream })
    await response.text()
    const id = response.headers.get("x-request-id") ?? ""
    const { status, body } = await receipt(id)
    expect(status).toBe(200)
    expect(body).toMatchObject({ id, key: keyId, outcome: "settled", model: MODEL, as_booked: true })
    expect(body.facts).toMatchObject({ stream, basis: "reported", requested_model: MODEL })
    if (!stream) expect(body.cost as string).toBe(response.headers.get("x-gateway-cost") ?? "")
  })

  test("the x-request-id of a failed request is a receipt's id", async () => {
    const response = await gateway.chat({ ...HI, model: `${MODEL}@status-503` })
    expect(response.status).toBe(503)
    const id = response.headers.get("x-request-id") ?? ""
    await eventually(async () => (await receipt(id)).status === 200, { what: "the receipt" })
    expect((await receipt(id)).body).toMatchObject({ outcome: "released", cost: "0", as_booked: null })
  })
})

describe("trivium receipt", () => {
  test("trivium receipt prints a receipt as text", async () => {
    const { code, stdout } = await run("receipt", "plain")
    expect(code).toBe(0)
    const lines = stdout.split("\n").map((line) => line.replace(/ {2,}/g, "  "))
    for (const line of [
      "receipt  plain",
      `key  ${keyId}`,
      "outcome  settled",
      `cost  ${COST} USD`,
      "BUCKET  UNITS  PRICE  USD",
      "input  1200  2.5 per million  0.003",
      "output  301  10 per million  0.00301",
      "protocol  anthropic-messages",
      "attempts  provider azure, model openai/gpt-4o, status 503, error upstream_unavailable",
      "  provider openai, model openai/gpt-4o, status 200",
      "policy  strict false",
    ])
      expect(lines).toContain(line)
    expect(stdout).toMatch(
      /^0\.00701 USD by price version [0-9a-f]{16}, rounded up to a nano-USD: matches the booked amount$/m,
    )
    expect((await run("receipt", "wrong")).stdout).toContain(`${COST} USD by price version`)
    expect((await run("receipt", "wrong")).stdout).toContain("does NOT match the booked amount")
    expect((await run("receipt", "tiered")).stdout).toContain("20 per million (above 1000 input tokens)")
    expect((await run("receipt", "old")).stdout).toContain("No further details are stored")
  })

  test("trivium receipt prints JSON for scripts, and reports an unknown id", async () => {
    const { stdout } = await run("receipt", "plain", "--json")
    expect(JSON.parse(stdout)).toEqual((await receipt("plain")).body)
    const none = await run("receipt", "nobody's")
    expect([none.code, none.stdout]).toEqual([1, ""])
    expect(none.stderr).toMatch(/^There is no receipt nobody's\. .*x-request-id/)
  })
})
