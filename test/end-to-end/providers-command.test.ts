// `trivium providers` stores providers' credentials sealed: through a running gateway, on its store, or remotely.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { localServer, openaiListing } from "../stage/local-server.ts"
import { ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"

const SECRET = "sk-canary-0123456789-wxyz"
const CONFIGURED = "sk-configured-0123456789-abcd"

interface ProviderListing {
  readonly id: string
  readonly type: string
  readonly source: string | null
  readonly hint: string | null
  readonly stored_at: string | null
}

/** Takes one key and no other. */
const guarded: UpstreamScript = (request, reply) =>
  request.headers.authorization === `Bearer ${SECRET}`
    ? localServer(openaiListing({ id: "m" }))(request, reply)
    : reply.json({ error: { message: "wrong key" } }, 401)

const config = (address: string) => `
providers:
  filed: { type: openai, base_url: "${address}", api_key: "${CONFIGURED}" }
  open: { type: openai, base_url: "${address}" }
models:
  - { id: test/model, pricing: { input: "1", output: "2" }, targets: [{ provider: open, model: m }] }
  - { id: test/mine, pricing: { input: "1", output: "2" }, targets: [{ provider: openai, model: m }] }
`

let upstream: ScriptedUpstream
beforeAll(async () => {
  upstream = await ScriptedUpstream.start(guarded)
})
afterAll(() => upstream.stop())

/** Everything below a folder, as text. */
function contents(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name))
  return names.map((name) => (statSync(name).isFile() ? readFileSync(name, "latin1") : "")).join("\n")
}

describe("without a gateway", () => {
  let folder: string
  const environment = { OPENAI_API_KEY: "sk-environment-0123456789-efgh" }
  const run = (words: string[], given: { input?: string; environment?: Record<string, string> } = {}) =>
    runCommand(["providers", ...words], { folder, ...given })
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "trivium-providers-"))
    writeFileSync(join(folder, "trivium.yaml"), config(upstream.baseUrl))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  test("a credential is stored, listed by its last characters, checked and removed, and never readable", async () => {
    const words = ["mine", "--type", "openai-compatible", "--base-url", upstream.baseUrl]
    const added = await run(["add", ...words], { input: `${SECRET}\n` })
    expect([added.code, added.stdout, added.stderr]).toEqual([
      0,
      `Stored the key of mine for ${upstream.baseUrl}. To check it: trivium providers check mine\n`,
      "",
    ])
    const listed = JSON.parse((await run(["list", "--json"])).stdout) as ProviderListing[]
    expect(listed.map(({ id, type, source, hint }) => [id, type, source, hint])).toEqual([
      ["filed", "openai", "file", "…abcd"],
      ["open", "openai", null, null],
      ["mine", "openai-compatible", "store", "…wxyz"],
    ])
    expect(Date.parse(listed[2]?.stored_at ?? "")).toBeGreaterThan(Date.now() - 60_000)
    const table = (await run(["list"])).stdout
    expect(table).toMatch(/^NAME +TYPE +ADDRESS +SOURCE +KEY +STORED\n/)
    expect(table).toMatch(/\nmine +openai-compatible +http\S+ +store +…wxyz +\d{4}-\d\d-\d\d \d\d:\d\d\n/)
    const checked = await run(["check", "mine"])
    expect([checked.code, checked.stdout]).toEqual([0, expect.stringMatching(/mine +http\S+ +store +accepted\n$/)])
    expect(contents(folder)).not.toContain(SECRET)
    const removed = await run(["remove", "mine", "--json"])
    expect(JSON.parse(removed.stdout)).toMatchObject({ id: "mine", credential: "none", source: null })
    expect((await run(["list"])).stdout).not.toContain("mine")
    for (const { stdout, stderr } of [added, checked, removed]) expect(stdout + stderr).not.toContain(SECRET)
  })

  test("a credential is read from a file, and used by the entry that lacks one", async () => {
    writeFileSync(join(folder, "key"), `${SECRET}\n`)
    const { code, stdout } = await run(["add", "open", "--key-file", "key", "--json"])
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({ id: "open", source: "store", address: upstream.baseUrl, hint: "…wxyz" }),
    ])
    expect((await run(["check", "open", "--json"])).stdout).toContain('"sound":true')
  })

  test("a stored credential is not used while one is configured, and the output states why", async () => {
    const filed = await run(["add", "filed"], { input: SECRET })
    expect(filed.stdout).toBe("Stored the key of filed. It is not used while the configuration file contains one.\n")
    const named = await run(["add", "openai"], { input: SECRET, environment })
    expect(named.stdout).toContain("while the environment variable OPENAI_API_KEY contains one")
    const shown = JSON.parse((await run(["list", "--json"], { environment })).stdout) as ProviderListing[]
    const of = (id: string) => shown.find((each) => each.id === id)
    expect([of("filed"), of("openai")]).toMatchObject([
      { source: "file", hint: "…abcd", stored_at: expect.any(String) },
      { source: "environment", variable: "OPENAI_API_KEY", hint: "…efgh", stored_at: expect.any(String) },
    ])
    expect((await run(["list"], { environment })).stdout).toContain("environment (OPENAI_API_KEY)")
    expect((await run(["remove", "openai"], { environment })).stdout).toBe(
      "Removed the stored key of openai. The key from the environment is used now.\n",
    )
  })

  test.each<[string, string[], string]>([
    ["removing the credential of a configured entry", ["remove", "filed"], "It is configured in "],
    [
      "removing a credential of the environment",
      ["remove", "openai"],
      "by the environment variable OPENAI_API_KEY: remove it there",
    ],
    ["removing a credential that is not stored", ["remove", "groq"], "No credential is stored for `groq`."],
    ["checking an unknown entry", ["check", "groq"], "neither configured nor stored"],
    ["an unknown provider", ["add", "opnai"], "There is no provider `opnai`. Did you mean `openai`?"],
    ["an unknown type", ["add", "x", "--type", "opnai"], 'unknown provider type "opnai"; did you mean "openai"?'],
    ["a host without address", ["add", "x", "--type", "openai-compatible"], 'needs a "base_url"'],
    ["a malformed address", ["add", "x", "--type", "groq", "--base-url", "ftp://h"], "expected an http://"],
    ["a missing region", ["add", "bedrock"], 'needs a "region", or the variable AWS_REGION'],
    [
      "a key for a provider without keys",
      ["add", "vertex"],
      "`vertex` does not use an API key. Set its credential in ",
    ],
    ["the simulator", ["add", "simulator"], "`simulator` does not use an API key"],
    [
      "another address for a configured entry",
      ["add", "filed", "--base-url", "http://h/v1"],
      "base_url must be set there",
    ],
    [
      "a variable in a value",
      ["add", "x", "--type", "groq", "--base-url", "http://$" + "{HOME}"],
      "cannot reference an environment variable",
    ],
    ["a missing key file", ["add", "groq", "--key-file", "none"], "There is no file none."],
  ])("%s is rejected", async (_, words, message) => {
    const { code, stdout, stderr } = await run(words, { input: SECRET, environment })
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining(message)])
    expect(stderr).not.toContain(SECRET)
    if (words.includes("filed")) expect(stderr).toContain(join(folder, "trivium.yaml"))
  })

  test.each([
    ["nothing", "", "No secret was given"],
    ["two words", "sk one", "a credential may contain only ASCII characters"],
    ["64 KiB and more", "x".repeat(70_000), "too long to be a secret"],
  ])("a credential that is %s is rejected", async (_, input, message) => {
    const { code, stderr } = await run(["add", "groq"], { input })
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  })

  test("a credential is not accepted as an argument", async () => {
    const { code, stderr } = await run(["add", "groq", SECRET])
    expect([code, stderr]).toEqual([1, expect.stringContaining("too many arguments")])
    expect((await run(["list"])).stdout).not.toContain("groq")
  })

  test("bedrock accepts a region, and azure a resource", async () => {
    const bedrock = await run(["add", "bedrock", "--region", "eu-west-1", "--json"], { input: SECRET })
    expect(JSON.parse(bedrock.stdout).address).toBe("https://bedrock-runtime.eu-west-1.amazonaws.com")
    const azure = await run(["add", "azure", "--resource", "mine", "--json"], { input: SECRET })
    expect(JSON.parse(azure.stdout)).toMatchObject({ address: "https://mine.openai.azure.com", source: "store" })
  })

  test("a gateway started later uses the stored credential", async () => {
    await run(["add", "openai", "--base-url", upstream.baseUrl], { input: SECRET })
    const started = { config: config(upstream.baseUrl), dataDir: join(folder, "data") }
    const gateway = await RunningGateway.start(started)
    const answer = await gateway.chat({ model: "test/mine", messages: [{ role: "user", content: "hi" }] })
    await gateway.stop()
    expect([answer.status, answer.headers.get("x-gateway-provider")]).toEqual([200, "openai"])
  })
})

describe("through a gateway", () => {
  let gateway: RunningGateway
  beforeAll(async () => {
    gateway = await RunningGateway.start({ config: config(upstream.baseUrl) })
  })
  afterAll(() => gateway.stop())
  const call = async (model: string) => {
    const answer = await gateway.chat({ model, messages: [{ role: "user", content: "hi" }] })
    await answer.text()
    return answer.status
  }

  test("a stored credential applies, and a removed one does not, from the next request on", async () => {
    const run = (...words: string[]) =>
      runCommand(["providers", ...words, "--data", gateway.dataDir], { folder: gateway.folder, input: SECRET })
    expect(await call("test/model")).toBe(400)
    expect((await run("add", "open")).code).toBe(0)
    expect(await call("test/model")).toBe(200)
    expect((await run("add", "openai", "--base-url", upstream.baseUrl)).code).toBe(0)
    expect(await call("test/mine")).toBe(200)
    expect((await run("check", "openai", "--json")).stdout).toContain('"verdict":"accepted"')
    expect((await run("check", "filed")).code).toBe(1)
    expect(JSON.parse((await run("list", "--json")).stdout)).toHaveLength(3)
    expect((await run("remove", "open")).stdout).toBe("Removed the stored key of open.\n")
    expect(await call("test/model")).toBe(400)
    expect((await run("remove", "filed")).stderr).toContain(join(gateway.folder, "trivium.yaml"))
    expect(contents(gateway.folder)).not.toContain(SECRET)
    expect(gateway.output.stderr + gateway.output.stdout).not.toContain(SECRET)
  })

  test("a credential is sent to a remote gateway with the administration key", async () => {
    const folder = mkdtempSync(join(tmpdir(), "trivium-elsewhere-"))
    const key = readFileSync(join(gateway.dataDir, "admin-key"), "utf8").trim()
    const run = (environment: Record<string, string>, ...words: string[]) =>
      runCommand(["providers", ...words, "--url", gateway.adminUrl], { folder, environment, input: SECRET })
    const refused = await run({ TRIVIUM_ADMIN_KEY: "x".repeat(30) }, "add", "groq")
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("not the administration key")])
    const added = await run({ TRIVIUM_ADMIN_KEY: key }, "add", "groq", "--json")
    expect(JSON.parse(added.stdout)).toMatchObject({ id: "groq", source: "store", hint: "…wxyz" })
    const listed = await run({ TRIVIUM_ADMIN_KEY: key }, "list", "--json")
    expect(listed.stdout).toContain('"groq"')
    expect((await run({ TRIVIUM_ADMIN_KEY: key }, "remove", "groq")).code).toBe(0)
    expect(contents(folder)).not.toContain(SECRET)
    rmSync(folder, { recursive: true })
  })
})

test("the commands in docs/administration.md work as written", async () => {
  const page = readFileSync(join(import.meta.dir, "..", "..", "docs", "administration.md"), "utf8")
  const lines = [...page.matchAll(/^npx trivium (providers [^#<\n]*)/gm)].map(([, line = ""]) => line.trim().split(" "))
  const folder = mkdtempSync(join(tmpdir(), "trivium-lines-"))
  writeFileSync(join(folder, "key.txt"), SECRET)
  // A check would leave this machine.
  const ran = lines.filter(([, action]) => action !== "check")
  expect([lines.length, ran.length]).toEqual([6, 5])
  for (const words of ran) {
    const { code, stderr } = await runCommand(words, { folder, input: SECRET })
    expect([words, code, stderr]).toEqual([words, 0, ""])
  }
  rmSync(folder, { recursive: true })
})

/** Runs a command at a terminal of its own. */
const terminal = Bun.which("script")

test.skipIf(terminal === null)("a typed credential is not echoed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "trivium-typed-"))
  const command = `node ${join(import.meta.dir, "..", "..", "bin", "trivium.mjs")} providers add groq`
  const env = { PATH: process.env.PATH ?? "", HOME: folder }
  const child = spawn(terminal ?? "", ["-qec", command, "/dev/null"], {
    cwd: folder,
    env,
    stdio: ["pipe", "pipe", "inherit"],
  })
  let seen = ""
  child.stdout.on("data", (bytes) => {
    seen += bytes
    if (seen.includes("API key of groq: ") && child.stdin.writable) child.stdin.end(`x\u007f${SECRET}\r`)
  })
  const code = await new Promise((resolve) => child.once("close", resolve))
  rmSync(folder, { recursive: true })
  expect([code, seen]).toEqual([0, expect.stringContaining("Stored the key of groq")])
  expect(seen).not.toContain(SECRET)
})
