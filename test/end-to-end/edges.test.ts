// Browsers, proxies and the concurrency limit in front of the gateway.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"

const PAGE = "https://app.example.com"
const HI = { model: "test/model", messages: [{ role: "user", content: "hi" }] }

let upstream: ScriptedUpstream
let gateway: RunningGateway
beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  const edges = `server: { cors: ["${PAGE}"], trusted_proxies: ["127.0.0.0/8"], max_in_flight: 2 }`
  gateway = await RunningGateway.start({ config: upstreamConfig(upstream.baseUrl, edges) })
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

const chat = (headers: Record<string, string>, method = "POST") =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method,
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", ...headers },
    ...(method === "POST" && { body: JSON.stringify(HI) }),
  })

describe("CORS", () => {
  const asking = { "access-control-request-method": "POST", "access-control-request-headers": "authorization, x-odd" }

  test("a configured origin passes the preflight request", async () => {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "OPTIONS",
      headers: { origin: PAGE, ...asking },
    })
    expect(answer.status).toBe(204)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "access-control-allow-origin": PAGE,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "authorization, x-odd",
      vary: "origin",
    })
  })

  test("a configured origin may read answers and errors", async () => {
    for (const [headers, status] of [
      [{}, 200],
      [{ authorization: "Bearer wrong" }, 401],
    ] as const) {
      const answer = await chat({ origin: PAGE, ...headers })
      expect(answer.status).toBe(status)
      expect(answer.headers.get("access-control-allow-origin")).toBe(PAGE)
      const exposed = answer.headers.get("access-control-expose-headers")?.split(", ")
      const own = [...answer.headers.keys()].filter((name) => name.startsWith("x-"))
      expect(exposed).toEqual(expect.arrayContaining([...own, "x-gateway-losses", "x-gateway-cost", "x-should-retry"]))
    }
  })

  test("any other origin gets no CORS headers", async () => {
    const headers = { origin: "https://app.example.com.evil.example", ...asking }
    const question = await fetch(`${gateway.url}/v1/chat/completions`, { method: "OPTIONS", headers })
    expect(question.status).toBe(405)
    expect(question.headers.get("access-control-allow-origin")).toBeNull()
    expect((await chat({ origin: "null" })).headers.get("access-control-allow-origin")).toBeNull()
  })
})

describe("behind a trusted proxy", () => {
  const refused = async (forwarded: string) => {
    const before = gateway.logged("exchange").length
    await chat({ authorization: "Bearer wrong", "x-forwarded-for": forwarded })
    await eventually(() => gateway.logged("exchange").length > before)
    return gateway.logged("exchange").at(-1)?.client_address
  }

  test("a rejected caller is logged by its own address", async () => {
    expect(await refused("198.51.100.7")).toBe("198.51.100.7")
    expect(await refused("6.6.6.6, 198.51.100.7, 127.0.0.9")).toBe("198.51.100.7")
  })

  test("a malformed address does not get into the log", async () => {
    expect(await refused('"}, evil')).toBe("127.0.0.1")
  })

  test("accepted callers are not logged by address", async () => {
    await chat({ "x-forwarded-for": "198.51.100.7" })
    await eventually(() => gateway.logged("exchange").at(-1)?.status === 200)
    expect(gateway.logged("exchange").at(-1)).not.toHaveProperty("client_address")
  })
})

test("requests above the configured concurrency are rejected at once with a retry delay", async () => {
  const held: (() => void)[] = []
  upstream.script = (_, reply) => new Promise((resolve) => held.push(() => resolve(reply.json({ choices: [] }))))
  const first = [chat({}), chat({})]
  await eventually(() => held.length === 2)
  const third = await chat({})
  expect(third.status).toBe(503)
  expect(third.headers.get("retry-after")).toBe("1")
  for (const release of held) release()
  for (const answer of await Promise.all(first)) expect(answer.status).toBe(200)
})
