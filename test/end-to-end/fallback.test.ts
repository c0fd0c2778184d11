// A failing provider, as a caller sees it: mostly not at all.
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { loadConfig } from "../../src/config/load-config.ts"
import { knownProviders } from "../../src/gateway-table.ts"
import { eventually } from "../stage/eventually.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { chunk, completion, ScriptedUpstream, streamedWords, streams, type UpstreamScript } from "../stage/upstream.ts"

const KEYS = ["first-credential", "second-credential"]
const OVERLOADED: UpstreamScript = (_, reply) => reply.json({ error: { message: "no", type: "server_error" } }, 503)
const ANSWERS: UpstreamScript = (_, reply) => reply.json(completion("Hello."))

let one: ScriptedUpstream
let two: ScriptedUpstream
let gateway: InProcessGateway

const config = (more = "") => `
admin: { port: 0 }
providers:
  one: { type: openai-compatible, protocols: [openai-chat], base_url: "${one.baseUrl}", api_keys: [${KEYS}] }
  two: { type: openai-compatible, protocols: [openai-chat], base_url: "${two.baseUrl}", api_key: "third-credential" }
models:
  - { id: t/both, pricing: { input: "1", output: "2" }, targets: [{ provider: one, model: m }, { provider: two, model: m, priority: 2 }] }
  - { id: t/one, pricing: { input: "1", output: "2" }, targets: [{ provider: one, model: s }] }
  - { id: t/two, pricing: { input: "1", output: "2" }, targets: [{ provider: two, model: s }] }
${more}`

beforeEach(async () => {
  one = await ScriptedUpstream.start()
  two = await ScriptedUpstream.start()
  gateway = InProcessGateway.start({ config: config() })
})
afterEach(async () => {
  await gateway.stop()
  await one.stop()
  await two.stop()
})

interface FallbackAnswer {
  readonly status: number
  readonly provider: string | null
  readonly attempts: string | null
  readonly error?: {
    readonly code: string
    readonly attempts?: { readonly provider: string; readonly status?: number }[]
  }
}

async function ask(model: string, more: object = {}): Promise<FallbackAnswer> {
  const answer = await gateway.chat({ model, messages: [{ role: "user", content: "Hi" }], ...more })
  const { headers, status } = answer
  const text = await answer.text()
  const { error } = text.startsWith("data:") ? {} : (JSON.parse(text) as Pick<FallbackAnswer, "error">)
  return {
    status,
    provider: headers.get("x-gateway-provider"),
    attempts: headers.get("x-gateway-attempts"),
    ...(error && { error }),
  }
}

function reload(text: string): void {
  const workingDir = mkdtempSync(join(tmpdir(), "trivium-reload-"))
  writeFileSync(join(workingDir, "trivium.yaml"), text)
  gateway.gateway.reload(loadConfig({ flags: { port: 0 }, environment: {}, workingDir, knownProviders }))
  rmSync(workingDir, { recursive: true })
}

const credentialsAt = ({ requests }: ScriptedUpstream) =>
  requests.map(({ headers }) => headers.authorization?.replace("Bearer ", ""))

describe("a rejected provider credential", () => {
  test.each([
    [401, { message: "Incorrect API key.", type: "invalid_request_error" }],
    [402, { message: "Insufficient Balance" }],
    [403, { message: "Forbidden." }],
    [400, { message: "Your credit balance is too low to access the API.", type: "invalid_request_error" }],
    [429, { message: "You exceeded your current quota.", type: "insufficient_quota", code: "insufficient_quota" }],
  ])("a credential rejected with %p falls back to the next target and is not used again", async (status, error) => {
    one.script = ({ headers }, reply) =>
      headers.authorization?.includes("first") ? reply.json({ error }, status) : reply.json(completion("Hello."))
    for (let each = 0; each < 4; each++) expect(await ask("t/one")).toMatchObject({ status: 200, provider: "one" })
    expect(credentialsAt(one).filter((credential) => credential === KEYS[0])).toHaveLength(1)
    expect(credentialsAt(one).filter((credential) => credential === KEYS[1])).toHaveLength(4)
  })

  test("a rejected credential is reported to the operator once, with the remedy and without the credential", async () => {
    one.script = (_, reply) => reply.json({ error: { message: `Bad key ${KEYS[0]}` } }, 401)
    for (let each = 0; each < 4; each++) await ask("t/one")
    await eventually(() => gateway.logged("account-set-aside").length === 2)
    const lines = gateway.logged("account-set-aside")
    expect(lines).toMatchObject([
      { level: "warn", provider: "one" },
      { level: "warn", provider: "one" },
    ])
    expect(lines.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^Key 1 of 2 at one is rejected .* Replace it/),
      expect.stringMatching(/^Key 2 of 2 at one is rejected/),
    ])
    expect(JSON.stringify(lines)).not.toContain("credential-")
    expect(JSON.stringify(lines)).not.toContain(KEYS[0])
  })
})

describe("a provider that fails", () => {
  test("a provider that fails is followed by the next at once, and skipped after five failures", async () => {
    one.script = OVERLOADED
    for (let each = 0; each < 20; each++) {
      expect(await ask("t/both")).toMatchObject({ status: 200, provider: "two" })
    }
    // Five for each of its keys.
    expect(one.requests).toHaveLength(10)
    expect(await ask("t/both")).toMatchObject({ attempts: "1" })
  })

  test("the only provider of a model is still called after failures: up to three times, and once while out of rotation", async () => {
    two.script = OVERLOADED
    expect(await ask("t/two")).toMatchObject({ status: 503, attempts: "3" })
    for (let each = 0; each < 4; each++) await ask("t/two")
    const before = two.requests.length
    for (let each = 0; each < 4; each++) expect(await ask("t/two")).toMatchObject({ status: 503, attempts: "1" })
    expect(two.requests).toHaveLength(before + 4)
    two.script = ANSWERS
    expect(await ask("t/two")).toMatchObject({ status: 200 })
  })

  test("a provider's health survives a reload, until its credential changes", async () => {
    one.script = OVERLOADED
    for (let each = 0; each < 10; each++) await ask("t/both")
    expect(one.requests).toHaveLength(10)
    reload(config('  - { id: t/new, pricing: { input: "1", output: "2" }, targets: [{ provider: one, model: m }] }'))
    expect(await ask("t/both")).toMatchObject({ provider: "two", attempts: "1" })
    reload(config().replace(KEYS[0] ?? "", "a-new-credential"))
    one.script = ANSWERS
    expect(await ask("t/both")).toMatchObject({ provider: "one", attempts: "1" })
    expect(credentialsAt(one).at(-1)).toBe("a-new-credential")
  })

  test("an error as the first event of a stream falls back to the next provider", async () => {
    one.script = streams([chunk({ role: "assistant" }), `data: {"error":{"message":"no","type":"server_error"}}\n\n`])
    two.script = streams(streamedWords("Hello there."))
    expect(await ask("t/both", { stream: true })).toMatchObject({ status: 200, provider: "two", attempts: "3" })
  })

  test("when all fallbacks fail the response is 503 and names every attempt", async () => {
    one.script = OVERLOADED
    two.script = OVERLOADED
    const { status, error } = await ask("t/one", { provider: { fallback: ["t/two"] } })
    expect(status).toBe(503)
    expect(error?.code).toBe("upstream_unavailable")
    expect(error?.attempts?.slice(0, 3)).toMatchObject([
      { provider: "one", status: 503 },
      { provider: "one" },
      { provider: "two" },
    ])
  })

  test("retries stop when the retry budget is spent", async () => {
    one.script = OVERLOADED
    two.script = OVERLOADED
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => ask("t/one", { provider: { fallback: ["t/two"] } })),
    )
    expect(answers.every(({ status }) => status === 503)).toBe(true)
    // 40 first attempts, at most 40 first moves that were free, and the budget.
    expect(one.requests.length + two.requests.length).toBeLessThan(40 + 40 + 30 + 12)
  })
})

describe("a rate-limited provider", () => {
  const limited =
    (headers: Record<string, string>, times = 1): UpstreamScript =>
    (_, reply) =>
      two.requests.length <= times
        ? reply.json({ error: { message: "Slow down.", type: "rate_limit_error" } }, 429, headers)
        : reply.json(completion("Hello."))

  test("a short provider limit is waited for if there is no other target", async () => {
    two.script = limited({ "retry-after-ms": "300" })
    const began = performance.now()
    expect(await ask("t/two")).toMatchObject({ status: 200, attempts: "2" })
    expect(performance.now() - began).toBeGreaterThan(290)
  })

  test("a long provider limit is not waited for, and the caller receives its delay", async () => {
    two.script = limited({ "retry-after": "7" })
    expect(await ask("t/two")).toMatchObject({ status: 503, attempts: "1", error: { code: "upstream_rate_limited" } })
  })

  test("a rate-limited provider is not waited for if another answers, and is skipped until its limit ends", async () => {
    one.script = (_, reply) => reply.json({ error: { message: "Slow down." } }, 429, { "retry-after": "60" })
    for (let each = 0; each < 5; each++) expect(await ask("t/both")).toMatchObject({ status: 200, provider: "two" })
    expect(one.requests).toHaveLength(2)
  })

  test("after the client disconnects, the wait ends without another call or a charge", async () => {
    two.script = limited({ "retry-after-ms": "1500" })
    const leaving = new AbortController()
    const pending = gateway.chat(
      { model: "t/two", messages: [{ role: "user", content: "Hi" }] },
      { signal: leaving.signal },
    )
    await eventually(() => two.requests.length === 1)
    await Bun.sleep(100)
    leaving.abort()
    await pending.catch(() => {})
    await eventually(() => gateway.logged("exchange").length === 1)
    expect(gateway.logged("exchange")).toMatchObject([{ outcome: "client-gone", attempts: 1 }])
    await Bun.sleep(1800)
    expect(two.requests).toHaveLength(1)
    const id = gateway.logged("exchange")[0]?.request_id
    const headers = { authorization: `Bearer ${gateway.key}` }
    const receipt = await (await fetch(`${gateway.url}/v1/receipts/${id}`, { headers })).json()
    expect(receipt).toMatchObject({ cost: "0" })
  })

  test("the wait for a rate-limited provider ends when the gateway stops", async () => {
    two.script = limited({ "retry-after-ms": "2000" }, 9)
    const pending = ask("t/two")
    await eventually(() => two.requests.length === 1)
    await Bun.sleep(100)
    const other = InProcessGateway.start({ config: config() })
    await gateway.stop()
    gateway = other
    expect(await pending).toMatchObject({ status: 503, error: { code: "shutting_down" } })
    expect(two.requests).toHaveLength(1)
  })
})
