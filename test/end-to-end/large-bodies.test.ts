// Large bodies: the memory they take while they arrive, and bodies that are rejected unread.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { eventually, within } from "../stage/eventually.ts"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { RawClient } from "../stage/raw-client.ts"
import { completion, ScriptedUpstream } from "../stage/upstream.ts"

const MIB = 1024 * 1024
const BODY = JSON.stringify({ model: "test/model", messages: [{ role: "user", content: "a".repeat(100_000) }] })
const FREE_MODEL = `  - { id: free/model, context_window: 1000000, pricing: { input: "0", output: "0" }, targets: [{ provider: scripted, model: free }] }\n`

let upstream: ScriptedUpstream
let gateway: RunningGateway
beforeAll(async () => {
  upstream = await ScriptedUpstream.start((_, reply) => reply.json(completion("Hello.")))
  const config = upstreamConfig(upstream.baseUrl).replace("context_window: 1000,", "context_window: 1000000,")
  gateway = await RunningGateway.start({ config })
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

let made = 0
async function newKey(wish: Record<string, string | Record<string, string>> = {}, at = gateway): Promise<string> {
  const body = JSON.stringify({ name: "payer", tenant: `tenant ${++made}`, ...wish })
  const answer = await at.administer("/admin/v1/keys", { method: "POST", body })
  expect(answer.status).toBe(201)
  return ((await answer.json()) as { key: string }).key
}

function head(key: string, framing: string): string {
  const lines = ["host: g", `authorization: Bearer ${key}`, "content-type: application/json", framing]
  return `POST /v1/chat/completions HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`
}

async function refusedUnread(key: string, framing: string, at = gateway): Promise<string> {
  const client = await RawClient.connect(at.url)
  await client.send(`${head(key, framing)}{`)
  await within(client.closed, "the end of the connection")
  return client.received
}

test("announced bodies take no memory from another key before they arrive", async () => {
  const greedy = await newKey()
  const hogs = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const client = await RawClient.connect(gateway.url)
      await client.send(`${head(greedy, `content-length: ${32 * MIB}`)}{`)
      return client
    }),
  )
  await Bun.sleep(100)
  const headers = { authorization: `Bearer ${await newKey()}`, "content-type": "application/json" }
  const answers = await Promise.all(Array.from({ length: 5 }, () => gateway.chat(BODY, { headers })))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  for (const client of hogs) client.leave()
})

test.each([
  ["an empty balance", { balance: "0" }, "insufficient_balance"],
  ["an empty budget", { budgets: { day: "0" } }, "budget_exceeded"],
])("the large body of a key with %s is rejected with 403 before it is read", async (_, wish, code) => {
  const key = await newKey(wish)
  for (const framing of [`content-length: ${30 * MIB}`, "transfer-encoding: chunked"]) {
    const answer = await refusedUnread(key, framing)
    expect(answer).toStartWith("HTTP/1.1 403")
    expect(answer).toContain(code)
  }
})

test("a key with an empty balance may still send a large body to a free model", async () => {
  const config = upstreamConfig(upstream.baseUrl, FREE_MODEL)
  const other = await RunningGateway.start({ config })
  try {
    const key = await newKey({ balance: "0" }, other)
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
    const answer = await other.chat(BODY.replace("test/model", "free/model"), { headers })
    expect(answer.status).toBe(200)
  } finally {
    await other.stop()
  }
})

test("a large request with an invalid key is answered without waiting for its body", async () => {
  const answer = await refusedUnread("wrong", `content-length: ${30 * MIB}`)
  expect(answer).toStartWith("HTTP/1.1 401")
})

test("the memory of bodies is released when their senders leave", async () => {
  const key = await newKey()
  const client = await RawClient.connect(gateway.url)
  await client.send(`${head(key, `content-length: ${MIB}`)}${" ".repeat(200_000)}`)
  const held = async () => {
    const text = await (await gateway.administer("/metrics")).text()
    return Number(/^trivium_body_bytes_being_read (\d+)$/m.exec(text)?.[1])
  }
  await eventually(async () => (await held()) === 400_000, { what: "the body's bytes to be counted" })
  client.leave()
  await eventually(async () => (await held()) === 0, { what: "the body's bytes to be given back" })
})
