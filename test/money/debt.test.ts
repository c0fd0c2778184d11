// Usage that a provider reports above hold and balance: a debt of the key or its tenant, which closes it until it is
// paid.
import { afterEach, beforeEach, expect, test } from "bun:test"
import { RunningGateway, runCommand, upstreamConfig } from "../stage/gateway.ts"
import { completion, ScriptedUpstream } from "../stage/upstream.ts"

let upstream: ScriptedUpstream
let gateway: RunningGateway
// A gateway of its own each: one that has seen a host exceed its limit holds more for it from then on.
beforeEach(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({ config: upstreamConfig(upstream.baseUrl) })
})
afterEach(async () => {
  await gateway.stop()
  await upstream.stop()
})

/** At 2 USD for a million. */
const answering = (outputTokens: number | undefined) => {
  const usage = { prompt_tokens: 0, completion_tokens: outputTokens, total_tokens: outputTokens }
  upstream.script = (_, reply) =>
    reply.json({ ...completion("Hello."), usage: outputTokens === undefined ? undefined : usage })
}

async function make(path: string, body: object): Promise<{ id: string; key: string }> {
  const answer = await gateway.administer(path, { method: "POST", body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()) as { id: string; key: string }
}

async function call(key: string) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  const body = { model: "test/model", max_tokens: 10, messages: [{ role: "user", content: "hi" }] }
  const answer = await gateway.chat(body, { headers })
  const error = answer.ok ? undefined : ((await answer.json()) as { error: { code: string; message: string } }).error
  return { status: answer.status, id: answer.headers.get("x-request-id"), error }
}

async function own(path: string, key: string): Promise<Record<string, unknown>> {
  const answer = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } })
  return (await answer.json()) as Record<string, unknown>
}

test("a debt closes a key with its own balance until a top-up has paid it", async () => {
  const { id, key } = await make("/admin/v1/keys", { name: "poor", balance: "0.0002" })
  expect(await own("/v1/key", key)).not.toHaveProperty("debt")
  answering(500)
  const first = await call(key)
  expect(first.status).toBe(200)
  expect(await own(`/v1/receipts/${first.id}`, key)).toMatchObject({
    ...{ cost: "0.001", paid: "0.0002", owed: "0.0008", written_off: "0" },
  })
  expect(await own("/v1/key", key)).toMatchObject({ balance: "0", debt: "0.0008" })
  const refused = await call(key)
  expect([refused.status, refused.error?.code]).toEqual([403, "insufficient_balance"])
  expect(refused.error?.message).toContain("owes 0.0008 USD")
  const { stdout } = await runCommand(["keys", "list", "--data", gateway.dataDir], { folder: gateway.folder })
  expect(stdout).toContain("balance 0 USD, owes 0.0008 USD")
  const topup = ["keys", "topup", id, "0.0004", "--data", gateway.dataDir]
  const part = await runCommand(topup, { folder: gateway.folder })
  expect(part.stdout).toBe(`${id} (poor) has 0 USD to spend and still owes 0.0004 USD.\n`)
  expect((await call(key)).status).toBe(403)
  expect(await make(`/admin/v1/keys/${id}/topup`, { usd: "0.001" })).toMatchObject({ balance: "0.0006" })
  answering(1)
  expect((await call(key)).status).toBe(200)
})

test("a debt closes every key of a tenant whose balance pays, and is shown in its listing and the metrics", async () => {
  await make("/admin/v1/tenants", { name: "acme" })
  await make("/admin/v1/tenants/acme/topup", { usd: "0.0002" })
  const [one, two] = [
    await make("/admin/v1/keys", { name: "one", tenant: "acme" }),
    await make("/admin/v1/keys", { name: "two", tenant: "acme" }),
  ]
  answering(500)
  expect((await call(one.key)).status).toBe(200)
  expect((await call(two.key)).error?.message).toContain("of the balance, which owes 0.0008 USD")
  const shown = (await (await gateway.administer("/admin/v1/tenants/acme")).json()) as Record<string, unknown>
  expect(shown).toMatchObject({ balance: "0", debt: "0.0008" })
  expect(await (await gateway.administer("/metrics")).text()).toContain("\ntrivium_debt_usd 0.0008\n")
  await make("/admin/v1/tenants/acme/topup", { usd: "1" })
  expect((await call(two.key)).status).toBe(200)
})

test("an estimated usage above the balance is written off and makes no debt", async () => {
  const { key } = await make("/admin/v1/keys", { name: "guess", balance: "0.0002" })
  upstream.script = (_, reply) => reply.json({ ...completion("word ".repeat(400)), usage: undefined })
  const { id, status } = await call(key)
  expect(status).toBe(200)
  const receipt = await own(`/v1/receipts/${id}`, key)
  expect(receipt).toMatchObject({ facts: { basis: "estimated" } })
  expect(receipt).not.toHaveProperty("owed")
  expect(Number(receipt.written_off)).toBeGreaterThan(0)
  expect(await own("/v1/key", key)).not.toHaveProperty("debt")
})

test("an overspent budget is shown as a negative remainder", async () => {
  const { key } = await make("/admin/v1/keys", { name: "frugal", budgets: { day: "0.0002" } })
  answering(500)
  expect((await call(key)).status).toBe(200)
  const refused = await call(key)
  expect([refused.status, refused.error?.code]).toEqual([403, "budget_exceeded"])
  expect(await own("/v1/key", key)).toMatchObject({ spending: [{ limit: "0.0002", remaining: "-0.0008" }] })
})
