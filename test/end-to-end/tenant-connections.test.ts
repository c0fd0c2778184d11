// The connections to a provider that the calls of several tenants use.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { SILENCE_MS } from "../../src/transport/idle-connections.ts"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { KeyFolder } from "../stage/keys.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"

const HI = { model: "test/model", messages: [{ role: "user", content: "hi" }] }
const TENANTS = ["alpha", "beta"]
/** So that it is long over when the next call is made. */
const RIPE_MS = SILENCE_MS + 300

let upstream: ScriptedUpstream
beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
})
afterAll(() => upstream.stop())
beforeEach(() => {
  upstream.requests.length = 0
})

type ChatCall = Pick<InProcessGateway, "chat">

async function call(gateway: ChatCall, key: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  const response = await gateway.chat(HI, { headers })
  expect(response.status).toBe(200)
  await response.arrayBuffer()
}

/** The connections of all calls so far, numbered by when they were first used. */
function connectionsUsed(): number[] {
  const used = upstream.requests.map(({ connection }) => connection)
  const order = [...new Set(used)]
  return used.map((connection) => order.indexOf(connection) + 1)
}

describe.each([
  ["shared", [1, 1, 2, 1, 2, 1]],
  ["strict", [1, 1, 2, 1, 2, 3]],
])("with %s connections", (isolation, expected) => {
  test("a tenant reuses its own connection, and another's only after a silence or never", async () => {
    await using gateway = InProcessGateway.start({
      config: upstreamConfig(upstream.baseUrl, `upstream: { isolation: ${isolation} }`),
    })
    const [alpha = "", beta = "", gamma = ""] = [...TENANTS, "gamma"].map(
      (tenant) => gateway.gateway.keys.create({ name: tenant, tenant }).text,
    )
    for (const key of [alpha, alpha, beta, alpha]) await call(gateway, key)
    await Bun.sleep(RIPE_MS)
    await call(gateway, beta)
    // The last to fall silent that is free again is alpha's.
    await call(gateway, gamma)
    expect(connectionsUsed()).toEqual(expected)
  })
})

test("two keys of one tenant use each other's connections", async () => {
  await using gateway = InProcessGateway.start({ config: upstreamConfig(upstream.baseUrl) })
  const keys = ["one", "two"].map((name) => gateway.gateway.keys.create({ name, tenant: "alpha" }).text)
  for (const key of [...keys, ...keys]) await call(gateway, key)
  expect(connectionsUsed()).toEqual([1, 1, 1, 1])
})

test("every call through a proxy has a connection of its own", async () => {
  const folder = new KeyFolder()
  const keys = folder.within((store) => TENANTS.map((tenant) => store.create({ name: tenant, tenant }).text))
  const gateway = await RunningGateway.start({
    config: upstreamConfig("http://provider.invalid/v1"),
    environment: { HTTP_PROXY: upstream.origin },
    dataDir: folder.path,
  })
  try {
    for (const key of [...keys, ...keys]) await call(gateway, key)
    expect(upstream.requests.map(({ path }) => path)).toEqual(
      Array(4).fill("http://provider.invalid/v1/chat/completions"),
    )
    expect(connectionsUsed()).toEqual([1, 2, 3, 4])
  } finally {
    await gateway.stop()
    folder.remove()
  }
})
