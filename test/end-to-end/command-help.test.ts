// The messages for a wrong command, folder, port, pattern or file.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"

const folder = mkdtempSync(join(tmpdir(), "trivium-help-"))
let gateway: RunningGateway
beforeAll(async () => {
  gateway = await RunningGateway.start()
})
afterAll(async () => {
  await gateway.stop()
  rmSync(folder, { recursive: true, force: true })
})

const LAUNCHER = join(import.meta.dir, "..", "..", "bin", "trivium.mjs")
const run = (...words: string[]) => runCommand(words, { folder })
const runThere = (...words: string[]) => run(...words, "--data", gateway.dataDir)

describe("the command line", () => {
  test.each([
    [["srve"], "Did you mean serve?"],
    [["kyes", "list"], "Did you mean keys?"],
    [["frobnicate"], "Commands: serve, check, keys"],
    [["keys", "crate"], "Did you mean create?"],
  ])("the unknown command %j is rejected with a hint: %s", async (words, advice) => {
    const { code, stderr } = await run(...words)
    expect([code, stderr]).toEqual([1, expect.stringContaining(advice)])
  })

  test("a shell completes commands", async () => {
    const { stdout } = await run("completion", "bash")
    const script = `${stdout}\nCOMP_WORDS=(trivium keys rot); COMP_CWORD=2; _trivium; echo "\${COMPREPLY[@]}"`
    expect(spawnSync("bash", ["-c", script], { encoding: "utf8" }).stdout.trim()).toBe("rotate")
    expect((await run("completion", "fish")).stdout).toContain("-l models")
  })

  test("`config schema` prints the JSON Schema of the configuration file", async () => {
    const { code, stdout } = await run("config", "schema")
    const { properties } = JSON.parse(stdout)
    expect([code, Object.keys(properties).slice(0, 3)]).toEqual([0, ["server", "admin", "store"]])
    expect(properties.providers.anyOf[0].additionalProperties.anyOf[0].properties.type.anyOf[0].enum).toContain(
      "openai",
    )
  })

  test("a reader that leaves early gets no error", () => {
    const command = `node ${JSON.stringify(LAUNCHER)} config schema | head -1`
    const { stdout, stderr } = spawnSync("sh", ["-c", command], { cwd: folder, encoding: "utf8" })
    expect([stdout, stderr]).toEqual(["{\n", ""])
  })
})

describe("starting the gateway", () => {
  test("a start on a file instead of a data folder fails with a message", async () => {
    const file = join(folder, "file")
    writeFileSync(file, "x")
    const { code, stderr } = await run("serve", "--port", "0", "--data", file)
    expect([code, stderr]).toEqual([1, expect.stringMatching(/data folder .* is a file.*--data/)])
    const below = await run("serve", "--port", "0", "--data", join(file, "below"))
    expect(below.stderr).toContain("a part of its path is a file")
  })

  test("a start on a port in use names the port, for callers and for the administration", async () => {
    const port = new URL(gateway.url).port
    const callers = await run("serve", "--port", port, "--admin-port", "0")
    expect([callers.code, callers.stderr]).toEqual([
      1,
      expect.stringMatching(new RegExp(`port ${port} in use.*--port`)),
    ])
    const admin = await run("serve", "--port", "0", "--admin-port", port)
    expect([admin.code, admin.stderr]).toEqual([
      1,
      expect.stringMatching(new RegExp(`administration.*port ${port} is in use.*--admin-port`)),
    ])
  })

  test("a start in demo mode without a new key prints how to get one", async () => {
    const again = await RunningGateway.start({ dataDir: join(folder, "twice") })
    await again.stop()
    const second = await RunningGateway.start({ dataDir: join(folder, "twice") })
    await second.stop()
    expect(second.output.stdout).toContain("trivium keys create --name")
  })

  test.each([
    [{ GEMINI_API_KEY: "x" }, /"model": "google\/gemini-[3-9]/],
    [{ XAI_API_KEY: "x" }, /"model": "xai\/grok-\d\.\d/],
    [{ MISTRAL_API_KEY: "x" }, /"model": "mistral\/mistral-/],
    [{ AZURE_OPENAI_API_KEY: "x", AZURE_OPENAI_RESOURCE: "r" }, /"model": "openai\/gpt-/],
    [{ VOYAGE_API_KEY: "x" }, /No chat model can be called[\s\S]*trivium check/],
  ])("a start with %j shows a current chat model, or reports that there is none", async (environment, expected) => {
    const first = await RunningGateway.start({ environment })
    await first.stop()
    expect(first.output.stdout).toMatch(expected)
  })
})

describe("keys on the command line", () => {
  test("a key whose model patterns match nothing is created with a warning", async () => {
    const warned = await runThere("keys", "create", "--name", "x", "--models", "opnai/*,openai/gpt-4o-mimi,google/*")
    expect(warned.code).toBe(0)
    expect(warned.stderr).toContain('"opnai/*". Did you mean openai/*?')
    expect(warned.stderr).toContain('"openai/gpt-4o-mimi". Did you mean openai/gpt-4o-mini?')
    expect(warned.stderr).not.toContain("google")
    const map = ["--map", "a=google/gemini-2.5-flesh", "--map", "b=OpenAI/gpt-4o"]
    const mapped = await runThere("keys", "create", "--name", "x", ...map)
    expect(mapped.stderr).toContain("Did you mean google/gemini-2.5-flash?")
    expect(mapped.stderr).not.toContain("gpt-4o")
    const tenant = await runThere("tenants", "create", "acme", "--models", "opnai/*")
    expect(tenant.stderr).toContain("Did you mean openai/*?")
  })

  test("rotating a key prints until when the old one is accepted", async () => {
    const made = JSON.parse((await runThere("keys", "create", "--name", "r", "--json")).stdout) as { id: string }
    const rotated = await runThere("keys", "rotate", made.id)
    expect(rotated.stdout).toMatch(/The old key is valid until \d{4}-\d\d-\d\d \d\d:\d\d UTC\./)
    const asJson = JSON.parse((await runThere("keys", "rotate", made.id, "--grace", "1h", "--json")).stdout)
    const hours = (Date.parse(asJson.previous_until) - Date.now()) / 3_600_000
    expect([hours > 0.9, hours <= 1]).toEqual([true, true])
    expect((await runThere("keys", "rotate", made.id, "--grace", "0m")).stdout).toContain("no longer valid")
  })

  test("a key command at the callers' port fails and names the administration", async () => {
    const { code, stderr } = await runThere("keys", "list", "--url", gateway.url)
    expect([code, stderr]).toEqual([1, expect.stringContaining("administration has its own port")])
  })
})

describe("malformed JSON", () => {
  const BROKEN = '{\n  "model": "openai/gpt-4o-mini",\n  messages: []\n}'
  const WHERE = "(line 3, column 3)"

  test("malformed JSON is rejected with its position by callers' routes, the administration and trivium explain", async () => {
    const called = await gateway.chat(BROKEN)
    expect(await called.json()).toMatchObject({
      error: { code: "invalid_json", message: expect.stringContaining(WHERE) },
    })
    const administered = await gateway.administer("/admin/v1/keys", { method: "POST", body: BROKEN })
    expect(await administered.text()).toContain(WHERE)
    writeFileSync(join(folder, "request.json"), BROKEN)
    expect((await run("explain", "request.json")).stderr).toContain(WHERE)
  })

  test("the position of malformed JSON is counted in characters, also beyond ASCII and in a large body", async () => {
    const wide = await gateway.chat('{"model": "é€", oops}')
    expect(await wide.text()).toContain("(line 1, column 17)")
    const large = await gateway.chat(`{"model": "m",\n"messages": "${"é".repeat(300_000)}",\n oops}`)
    expect(await large.text()).toContain("(line 3, column 2)")
  })
})

describe("trivium check", () => {
  const check = async (config: string, ...words: string[]) => {
    writeFileSync(join(folder, "check.yaml"), config)
    return run("check", "--config", "check.yaml", ...words)
  }

  test("trivium check names the line that an entry of one's own host lacks", async () => {
    const { code, stderr } = await check('providers:\n  custom: { base_url: "http://127.0.0.1:9/v1" }\n')
    expect([code, stderr]).toEqual([1, expect.stringMatching(/check\.yaml:2:3 .*add `type: openai-compatible`/)])
    const misspelt = await check('providers:\n  opnai: { base_url: "http://127.0.0.1:9/v1" }\n')
    expect(misspelt.stderr).toContain('did you mean "openai"')
    const problems = JSON.parse((await check("providers:\n  opnai: {}\n", "--json")).stdout)
    expect(problems).toMatchObject({ valid: false, problems: [{ path: "providers.opnai", line: 2 }] })
  })

  test("trivium check and the listings omit a model without a price", async () => {
    const upstream = await ScriptedUpstream.start((_, reply) => reply.json({ data: [] }))
    const model = (id: string, more: string) =>
      `  - { id: ${id}, kind: chat, context_window: 8192, max_output_tokens: 1024, targets: [{ provider: host, model: x }]${more} }`
    const config = [
      `providers:\n  host: { type: openai-compatible, base_url: "${upstream.baseUrl}", api_key: x }`,
      `models:\n${model("acme/priceless", "")}\n${model("acme/free", ', pricing: { input: "0", output: "0" }')}\n`,
    ].join("\n")
    const running = await RunningGateway.start({ config })
    try {
      const shown = await check(config)
      expect(shown.stdout).toContain("1 of ")
      expect(shown.stdout).toContain("because they have no price: acme/priceless.")
      const report = JSON.parse((await check(config, "--json")).stdout)
      expect(report).toMatchObject({ valid: true, sound: true, models: { callable: 1, unpriced: ["acme/priceless"] } })
      const headers = { authorization: `Bearer ${running.key}` }
      const listed = (await (await fetch(`${running.url}/v1/models`, { headers })).json()) as { data: { id: string }[] }
      expect(listed.data.map(({ id }) => id)).toEqual(["acme/free"])
      const models = await run("models", "--data", running.dataDir)
      expect(models.stdout).not.toContain("priceless")
      expect((await run("models", "--all", "--data", running.dataDir)).stdout).toContain("priceless")
      const remote = ["--url", running.adminUrl, "--data", running.dataDir, "--json"]
      expect(JSON.parse((await run("check", ...remote)).stdout)).toEqual(report)
    } finally {
      await running.stop()
      await upstream.stop()
    }
  })

  test("trivium check prints what to do if no model can be called", async () => {
    const { stdout } = await check(
      'providers:\n  host: { type: openai-compatible, base_url: "http://127.0.0.1:9/v1" }\n',
    )
    expect(stdout).toContain("0 of ")
    expect(stdout).toContain("List the models they serve under `models`")
  })
})

test("in demo mode trivium check names the simulator as the provider", async () => {
  const { stdout } = await runThere("models")
  expect(stdout).toMatch(/^openai\/gpt-4o-mini +chat +\d+ +simulator$/m)
})
