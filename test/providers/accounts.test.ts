import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import OpenAI from "openai"
import { HI } from "../end-to-end/client-versions.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { rejectionOf } from "../stage/rejection-of.ts"
import { completion, type ReceivedRequest, ScriptedUpstream, type UpstreamReply } from "../stage/upstream.ts"

let upstream: ScriptedUpstream
let gateway: InProcessGateway

// A gateway of its own for each test: what it learns of an account it does not forget.
beforeEach(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = InProcessGateway.start({
    config: `
providers:
  several: { type: openai-compatible, base_url: "${upstream.baseUrl}", api_keys: [key-one, key-two] }
models:
  - { id: test/model, pricing: { input: "1", output: "2" }, targets: [{ provider: several, model: upstream-model }] }
`,
  })
})
afterEach(async () => {
  await gateway.stop()
  await upstream.stop()
})

type AnswerScript = (reply: UpstreamReply, request: ReceivedRequest) => void

/** Answers key-one in one way and key-two in another. */
function byKey(one: AnswerScript, two: AnswerScript = well): void {
  upstream.script = (request, reply) => (keyOf(request) === "key-one" ? one : two)(reply, request)
}

const well = (reply: UpstreamReply) => reply.json(completion("Hello."))
const keyOf = ({ headers }: ReceivedRequest) => headers.authorization?.replace("Bearer ", "") ?? ""
const ask = () => gateway.chat(HI)

describe("two accounts of one provider", () => {
  test("two accounts of one provider are called in rotation", async () => {
    byKey(well)
    for (let call = 0; call < 4; call++) expect((await ask()).headers.get("x-gateway-attempts")).toBe("1")
    const keys = upstream.requests.map(keyOf)
    expect(keys.slice(0, 2).sort()).toEqual(["key-one", "key-two"])
    expect(keys.slice(2)).toEqual(keys.slice(0, 2))
  })

  test.each([401, 403, 429, 500])(
    "two accounts of one provider replace each other if one answers %d",
    async (status) => {
      byKey((reply) => reply.json({ error: { message: "No.", type: "x", code: "y" } }, status))
      const answers = [await ask(), await ask()]
      expect(answers.map((answer) => answer.status)).toEqual([200, 200])
      expect(answers.map((answer) => answer.headers.get("x-gateway-attempts")).sort()).toEqual(["1", "2"])
      expect(answers[0]?.headers.get("x-gateway-provider")).toBe("several")
    },
  )

  test("a caller's mistake is not retried at the second account of a provider", async () => {
    const refuse = (reply: UpstreamReply) => reply.json({ error: { message: "`n` is too large.", param: "n" } }, 400)
    byKey(refuse, refuse)
    expect((await ask()).status).toBe(400)
    expect(upstream.requests).toHaveLength(1)
  })

  test("when both accounts fail, both attempts are reported without their keys", async () => {
    const refuse = (reply: UpstreamReply, request: ReceivedRequest) =>
      reply.json({ error: { message: `Key ${keyOf(request)} is disabled.`, type: "server_error" } }, 500)
    byKey(refuse, refuse)
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
    const error = await rejectionOf(openai.chat.completions.create(HI))
    expect(error).toMatchObject({ status: 503 })
    const { attempts } = (error as { error: { attempts: { provider: string }[] } }).error
    expect(attempts.slice(0, 2)).toMatchObject([{ provider: "several" }, { provider: "several" }])
    expect(new Set(upstream.requests.slice(0, 2).map(keyOf)).size).toBe(2)
    expect(JSON.stringify(error)).not.toMatch(/key-(one|two)/)
  })
})
