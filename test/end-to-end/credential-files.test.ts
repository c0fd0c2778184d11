// Credentials that a `file:` reference names: read at start, and again when the file changes.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { completion, ScriptedUpstream } from "../stage/upstream.ts"

const folder = mkdtempSync(join(tmpdir(), "trivium-credential-files-"))
const file = join(folder, "key")
let upstream: ScriptedUpstream
let gateway: RunningGateway

/** A mounted secret of Kubernetes: a link through a folder that is replaced as a whole. */
function mount(version: string, credential: string): void {
  mkdirSync(join(folder, version))
  writeFileSync(join(folder, version, "key"), credential)
  symlinkSync(version, join(folder, "data-next"))
  renameSync(join(folder, "data-next"), join(folder, "..data"))
}

const config = () => `
providers:
  scripted: { type: openai-compatible, base_url: "${upstream.baseUrl}", api_key: "file:${file}" }
models:
  - { id: test/model, pricing: { input: "1", output: "2" }, targets: [{ provider: scripted, model: m }] }
`

beforeAll(async () => {
  upstream = await ScriptedUpstream.start((_, reply) => reply.json(completion("Hello.")))
  mount("version-1", "first-key\n")
  symlinkSync("..data/key", file)
  gateway = await RunningGateway.start({ config: config() })
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function sentKey(): Promise<string | undefined> {
  await (await gateway.chat({ model: "test/model", messages: [{ role: "user", content: "hi" }] })).text()
  return upstream.lastRequest().headers.authorization
}

test("a credential is read from its file", async () => {
  expect(await sentKey()).toBe("Bearer first-key")
})

test("a rotated credential is used without a restart, and appears in no log", async () => {
  mount("version-2", "second-key")
  await eventually(async () => (await sentKey()) === "Bearer second-key", { what: "the rotation" })
  await eventually(() => gateway.logged("config-reloaded").length > 0, { what: "the line in the log" })
  expect(gateway.output.stdout + gateway.output.stderr).not.toMatch(/first-key|second-key/)
})

test("a credential file that is emptied or removed changes nothing and is reported", async () => {
  const rejections = () => gateway.logged("config-rejected").map(({ reason }) => String(reason))
  mount("version-3", "")
  await eventually(() => rejections().some((reason) => reason.includes(`the file ${file} is empty`)), {
    what: "the rejection",
  })
  expect(await sentKey()).toBe("Bearer second-key")
  rmSync(file)
  await eventually(() => rejections().some((reason) => reason.includes("ENOENT")), {
    what: "the loss",
  })
  expect(await sentKey()).toBe("Bearer second-key")
  writeFileSync(file, "third-key")
  await eventually(async () => (await sentKey()) === "Bearer third-key", { what: "the return" })
})

test("check names the credential file but not its content, and a missing file is a configuration error", async () => {
  writeFileSync(join(folder, "trivium.yaml"), config())
  const { stdout } = await runCommand(["check"], { folder })
  expect(stdout).toContain(`file ${file}`)
  expect(stdout).not.toContain("third-key")
  rmSync(file)
  const failed = await runCommand(["check", "--json"], { folder })
  expect(failed.code).toBe(1)
  expect(JSON.parse(failed.stdout).problems).toMatchObject([
    { path: "providers.scripted.api_key", message: `there is no file ${file}` },
  ])
})
