import { expect, mock, test } from "bun:test"
import { upstreamConfig } from "../stage/gateway.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"

test("the tracing modules are loaded only if a collector is configured", async () => {
  let loaded = 0
  const traced: unknown[] = []
  mock.module("../../src/telemetry/tracer.ts", () => {
    loaded++
    return {
      Tracer: class {
        trace = (exchange: unknown) => traced.push(exchange)
        stop = () => Promise.resolve()
      },
    }
  })
  const upstream = await ScriptedUpstream.start()
  const ask = { model: "test/model", messages: [{ role: "user", content: "Hello" }] }
  const without = InProcessGateway.start({ config: upstreamConfig(upstream.baseUrl) })
  expect((await without.chat(ask)).status).toBe(200)
  await without.stop()
  expect(loaded).toBe(0)
  const config = upstreamConfig(upstream.baseUrl, 'telemetry: { traces: "http://127.0.0.1:1" }')
  const having = InProcessGateway.start({ config })
  expect((await having.chat(ask)).status).toBe(200)
  await having.stop()
  expect(loaded).toBe(1)
  expect(traced).toHaveLength(1)
  await upstream.stop()
})
