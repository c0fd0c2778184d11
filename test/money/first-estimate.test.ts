// The local token counter is loaded on first use and ended when idle; the first count after that equals the second,
// though loading takes longer than an answer usually waits.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { InProcessGateway } from "../stage/in-process.ts"
import { completion, ScriptedUpstream } from "../stage/upstream.ts"

let upstream: ScriptedUpstream
let gateway: InProcessGateway
beforeAll(async () => {
  upstream = await ScriptedUpstream.start((_, reply) =>
    reply.json({ ...completion("word ".repeat(300)), usage: undefined }),
  )
  gateway = InProcessGateway.start({
    config: `
admin: { port: 0 }
providers:
  silent: { type: openai-compatible, protocols: [openai-chat], base_url: "${upstream.baseUrl}", api_key: "k" }
models:
  - { id: openai/counted, pricing: { input: "1", output: "1" }, targets: [{ provider: silent, model: m }] }
`,
  })
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

test("the first estimate after a start is as good as the second", async () => {
  const ask = async () => {
    const answer = await gateway.chat({
      model: "openai/counted",
      messages: [{ role: "user", content: "How? ".repeat(50) }],
    })
    await answer.text()
    return answer.headers.get("x-gateway-cost")
  }
  const first = await ask()
  expect(first).toMatch(/^0\.000[34]/)
  expect([await ask(), await ask()]).toEqual([first, first])
})
