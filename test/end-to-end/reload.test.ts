// Changes of trivium.yaml under a running gateway: valid ones take effect, invalid ones change nothing.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { chunk, completion, DONE, ScriptedUpstream } from "../stage/upstream.ts"

let upstream: ScriptedUpstream
let gateway: RunningGateway
let file: string

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({ config: upstreamConfig(upstream.baseUrl) })
  file = join(gateway.folder, "trivium.yaml")
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

const model = (id: string) =>
  `  - { id: ${id}, pricing: { input: "1", output: "2" }, targets: [{ provider: scripted, model: ${id.replace("/", "-")} }] }\n`

async function call(id: string): Promise<number> {
  const response = await gateway.chat({ model: id, messages: [{ role: "user", content: "hi" }] })
  await response.text()
  return response.status
}

/** Changes the file and waits for the line the gateway then logs. */
async function change(event: "config-reloaded" | "config-rejected", act: () => void): Promise<Record<string, unknown>> {
  const before = gateway.logged(event).length
  act()
  await eventually(() => gateway.logged(event).length > before, { what: event })
  return gateway.logged(event).at(-1) ?? {}
}

test("a model that is added can be called", async () => {
  expect(await call("new/model")).toBe(400)
  await change("config-reloaded", () => writeFileSync(file, upstreamConfig(upstream.baseUrl, model("new/model"))))
  expect(await call("new/model")).toBe(200)
  expect(JSON.parse(upstream.lastRequest().body.toString()).model).toBe("new-model")
  expect(await call("test/model")).toBe(200)
})

test("an invalid change keeps the old configuration and is logged with its position, without credentials", async () => {
  const broken = `${upstreamConfig(upstream.baseUrl, model("third/model"))}modles: []\n`
  const line = await change("config-rejected", () => writeFileSync(file, broken))
  expect(line).toMatchObject({ level: "error", config_file: file })
  expect(line.reason).toMatch(/^trivium\.yaml:\d+:1 modles: .*did you mean "models"\?$/)
  expect(gateway.output.stderr).not.toContain("upstream-credential")
  expect(await call("third/model")).toBe(400)
  expect(await call("new/model")).toBe(200)
})

test("a file put in place of the old one takes effect", async () => {
  await change("config-reloaded", () => {
    writeFileSync(`${file}.next`, upstreamConfig(upstream.baseUrl, model("third/model")))
    renameSync(`${file}.next`, file)
  })
  expect(await call("third/model")).toBe(200)
  expect(await call("new/model")).toBe(400)
})

test("a removed file changes nothing, is logged, and takes effect when it is back", async () => {
  const line = await change("config-rejected", () => rmSync(file))
  expect(line).toMatchObject({ level: "error", config_file: file })
  expect(line.reason).toContain("ENOENT")
  expect(await call("third/model")).toBe(200)
  await change("config-reloaded", () => {
    writeFileSync(file, upstreamConfig(upstream.baseUrl, model("fourth/model")))
  })
  expect(await call("fourth/model")).toBe(200)
})

describe("a change that removes every provider", () => {
  const whole = () => upstreamConfig(upstream.baseUrl, model("fourth/model"))
  const put = (text: string) => () => writeFileSync(file, text)
  const inItsPlace = (make: () => void) => () => {
    rmSync(file)
    make()
  }
  afterEach(async () => {
    rmSync(file, { recursive: true, force: true })
    await change("config-reloaded", put(`${whole()}# ${Math.random()}\n`))
  })

  test.each<[string, () => void, string]>([
    ["a file that is emptied", put(""), "no callable provider"],
    ["a file that is cut behind `providers:`", put("\nproviders:\n"), "no callable provider"],
    ["a file with a provider without its credential", put("providers: { openai: {} }\n"), "no callable provider"],
    ["a file that a copy has left with its comments only", put("# trivium\n"), "no callable provider"],
    ["a folder in the file's place", inItsPlace(() => mkdirSync(file)), "EISDIR"],
    ["a file that cannot be reached", inItsPlace(() => symlinkSync("trivium.yaml", file)), "ELOOP"],
  ])("a change that removes every provider is logged and not applied: %s", async (_, act, reason) => {
    const line = await change("config-rejected", act)
    expect(line).toMatchObject({ level: "error", config_file: file })
    expect(line.reason).toContain(reason)
    const answer = await gateway.chat({ model: "fourth/model", messages: [{ role: "user", content: "hi" }] })
    expect([answer.status, answer.headers.get("x-gateway-provider")]).toEqual([200, "scripted"])
    const unserved = await call("openai/gpt-4o-mini")
    expect(unserved).toBe(400)
  })
})

test("a stream that started before a change ends unchanged", async () => {
  let go = () => {}
  upstream.script = async (_, reply) => {
    reply.stream()
    await reply.write(chunk({ role: "assistant", content: "before" }))
    await new Promise<void>((resolve) => {
      go = resolve
    })
    await reply.write(chunk({ content: " after" }, "stop") + DONE)
    reply.end()
  }
  const response = await gateway.chat({
    model: "fourth/model",
    messages: [{ role: "user", content: "hi" }],
    stream: true,
  })
  await change("config-reloaded", () => writeFileSync(file, upstreamConfig(upstream.baseUrl)))
  go()
  const text = await response.text()
  expect(text).toEndWith(DONE)
  expect(text.match(/"model":"fourth\/model"/g)).toHaveLength(2)
  upstream.script = (_, reply) => reply.json(completion("Hello."))
  expect(await call("fourth/model")).toBe(400)
})

test("a changed credential and address are used from then on", async () => {
  const other = await ScriptedUpstream.start()
  try {
    const config = upstreamConfig(other.baseUrl).replace("upstream-credential", "second-credential")
    await change("config-reloaded", () => writeFileSync(file, config))
    expect(await call("test/model")).toBe(200)
    expect(other.lastRequest().headers.authorization).toBe("Bearer second-credential")
  } finally {
    await other.stop()
  }
})

describe("the simulator after a reload", () => {
  const FIRST = { model: "openai/gpt-4o-mini", messages: [{ role: "user", content: "hi" }] }
  const provider = async (at: RunningGateway) => (await at.chat(FIRST)).headers.get("x-gateway-provider")

  test("the simulator is replaced by a configured provider, and does not return when that is removed", async () => {
    const demo = await RunningGateway.start()
    try {
      expect(await provider(demo)).toBe("simulator")
      const path = join(demo.folder, "trivium.yaml")
      writeFileSync(path, upstreamConfig(upstream.baseUrl))
      await eventually(() => demo.logged("config-reloaded").length === 1)
      expect(await provider(demo)).toBeNull()
      writeFileSync(path, "")
      await eventually(() => demo.logged("config-rejected").length === 1)
      expect(await provider(demo)).toBeNull()
      expect((await demo.chat({ ...FIRST, model: "test/model" })).status).toBe(200)
    } finally {
      await demo.stop()
    }
  })

  test("the simulator does not return when the administration removes the last credential", async () => {
    const demo = await RunningGateway.start()
    try {
      const path = "/admin/v1/providers/openai/credential"
      const body = JSON.stringify({ api_key: "sk-test" })
      expect((await demo.administer(path, { method: "PUT", body })).status).toBeLessThan(300)
      expect((await demo.administer(path, { method: "DELETE" })).status).toBeLessThan(300)
      const answer = await demo.chat(FIRST)
      expect([answer.status, answer.headers.get("x-gateway-provider")]).toEqual([400, null])
    } finally {
      await demo.stop()
    }
  })
})
