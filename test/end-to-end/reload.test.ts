// trivium.yaml changed under a running gateway: what is right takes effect, what is wrong changes nothing.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { chunk, completion, DONE, Upstream } from "../stage/upstream.ts"

let upstream: Upstream
let gateway: RunningGateway
let file: string

beforeAll(async () => {
  upstream = await Upstream.start()
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

test("an invalid change keeps what was there and is logged with its place, without credentials", async () => {
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

test("a file that disappears changes nothing, and takes effect when it is back", async () => {
  rmSync(file)
  await Bun.sleep(400)
  expect(await call("third/model")).toBe(200)
  await change("config-reloaded", () => {
    writeFileSync(file, upstreamConfig(upstream.baseUrl, model("fourth/model")))
  })
  expect(await call("fourth/model")).toBe(200)
})

test("a stream that began before a change ends as it began", async () => {
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

test("another credential and another address are used from then on", async () => {
  const other = await Upstream.start()
  try {
    const config = upstreamConfig(other.baseUrl).replace("upstream-credential", "second-credential")
    await change("config-reloaded", () => writeFileSync(file, config))
    expect(await call("test/model")).toBe(200)
    expect(other.lastRequest().headers.authorization).toBe("Bearer second-credential")
  } finally {
    await other.stop()
  }
})
