// API keys on the command line and at a running gateway; the first start; `trivium check`.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { RunningGateway, runCommand, upstreamConfig } from "../stage/gateway.ts"
import { KeyFolder } from "../stage/keys.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"

const KEY = /trv_[0-9A-Za-z]{49}/
const HI = { model: "test/model", messages: [{ role: "user", content: "hi" }] }

/** A key as `--json` shows it. */
interface ShownKey {
  readonly id: string
  readonly name: string
  readonly tenant: string
  readonly hint: string
  readonly models: string[] | null
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
  readonly strict: boolean
  readonly protocols: string[] | null
  readonly addresses: string[] | null
  readonly requests_per_minute: number | null
  readonly tokens_per_minute: number | null
  readonly concurrent_requests: number | null
  readonly budgets: Record<string, string>
  readonly keep_answers: boolean
  readonly own_balance: boolean
  readonly strict_balance: boolean
  readonly hedge: boolean
  readonly model_map: object[] | null
  readonly balance: string | null
  readonly held: string
  readonly key?: string
}

describe("trivium keys", () => {
  const folder = new KeyFolder()
  afterAll(() => folder.remove())

  test("list without any key prints how to create one", async () => {
    const { code, stdout } = await folder.run("list")
    expect(code).toBe(0)
    expect(stdout).toContain("trivium keys create --name")
    expect(await folder.json("list")).toEqual([])
  })

  test("create prints the key and its id", async () => {
    const { code, stdout, stderr } = await folder.run("create", "--name", "plain")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(KEY)
    expect(stdout).toMatch(/plain \(key_\w+\)/)
  })

  test("create --json prints everything a script needs", async () => {
    const wishes = ["--tenant", "acme", "--models", "openai/*, test/model", "--expires", "2099-01-31"]
    const created = await folder.json<ShownKey>("create", "--name", "scripted", ...wishes)
    expect(created).toEqual({
      id: expect.stringMatching(/^key_/) as unknown as string,
      key: expect.stringMatching(KEY) as unknown as string,
      name: "scripted",
      tenant: "acme",
      hint: `trv_…${created.key?.slice(-4)}`,
      models: ["openai/*", "test/model"],
      created_at: expect.any(String) as unknown as string,
      expires_at: "2099-01-31T00:00:00.000Z",
      revoked_at: null,
      strict: false,
      protocols: null,
      addresses: null,
      requests_per_minute: null,
      tokens_per_minute: null,
      concurrent_requests: null,
      budgets: {},
      keep_answers: false,
      own_balance: false,
      strict_balance: false,
      hedge: false,
      model_map: null,
      balance: null,
      held: "0",
    })
  })

  test("create accepts every limit, update changes each, and a keyword removes one", async () => {
    const limits = ["--rpm", "60", "--tpm", "9000", "--concurrent", "4", "--budgets", "day=1.50,total=20"]
    const where = [
      "--protocols",
      "openai, gemini",
      "--addresses",
      "10.0.0.0/8,::1",
      "--keep-answers",
      "--strict-balance",
      "--expires",
      "1d",
    ]
    const { id } = await folder.create("limited", ...limits, ...where)
    const [made] = (await folder.json<ShownKey[]>("list")).filter((key) => key.id === id)
    expect(made).toMatchObject({
      protocols: ["openai", "gemini"],
      addresses: ["10.0.0.0/8", "::1"],
      requests_per_minute: 60,
      tokens_per_minute: 9000,
      concurrent_requests: 4,
      budgets: { day: "1.5", total: "20" },
      keep_answers: true,
      strict_balance: true,
    })
    const none = ["--rpm", "default", "--tpm", "none", "--concurrent", "none", "--budgets", "none"]
    const not = ["--no-keep-answers", "--no-strict-balance"]
    const all = ["--protocols", "all", "--addresses", "all", "--models", "all", "--expires", "never", "--name", "free"]
    const freed = await folder.json<ShownKey>("update", id, ...none, ...not, ...all)
    expect(freed).toMatchObject({
      name: "free",
      models: null,
      protocols: null,
      addresses: null,
      requests_per_minute: null,
      tokens_per_minute: null,
      concurrent_requests: null,
      budgets: {},
      keep_answers: false,
      strict_balance: false,
      expires_at: null,
    })
  })

  test("a duration is counted from the present", async () => {
    const { expires_at } = await folder.json<ShownKey>("create", "--name", "short", "--expires", "12h")
    const hours = (Date.parse(expires_at ?? "") - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(11.9)
    expect(hours).toBeLessThan(12.1)
  })

  test("list shows the state of every key, and no key text", async () => {
    const past = await folder.json<ShownKey>("create", "--name", "past", "--expires", "2020-01-31")
    await folder.json("revoke", (await folder.create("gone")).id)
    const { stdout } = await folder.run("list")
    const lines = stdout.trimEnd().split("\n")
    expect(lines[0]).toMatch(/^ID +NAME +TENANT +KEY +MODELS +LIMITS +STATE$/)
    expect(lines.find((line) => line.includes(" plain "))).toMatch(/default +trv_….{4} +all +default +valid$/)
    expect(lines.find((line) => line.includes(" scripted "))).toMatch(
      /openai\/\*,test\/model +default +valid until 2099-01-31$/,
    )
    expect(lines.find((line) => line.includes(past.id))).toMatch(/expired 2020-01-31$/)
    expect(lines.find((line) => line.includes(" gone "))).toMatch(/revoked \d{4}-\d\d-\d\d$/)
    expect(stdout).not.toMatch(KEY)
    const listed = await folder.json<ShownKey[]>("list")
    expect(listed).toHaveLength(lines.length - 1)
    for (const each of listed) expect(each).not.toHaveProperty("key")
  })

  test("rotate and revoke print their effect", async () => {
    const { id, key } = await folder.create("turning")
    const rotated = await folder.run("rotate", id)
    expect(rotated.stdout).toMatch(KEY)
    expect(rotated.stdout).not.toContain(key)
    expect((await folder.run("revoke", id)).stdout).toBe(`Revoked ${id} (turning).\n`)
    const again = await folder.json<ShownKey>("revoke", id)
    expect(again).toMatchObject({ id, revoked_at: expect.any(String) as unknown as string })
    const dead = await folder.run("rotate", id)
    expect(dead.code).toBe(1)
    expect(dead.stderr).toContain("revoked")
  })

  test.each(["rotate", "revoke"])("%s of an unknown id fails with a one-line message", async (command) => {
    const { code, stdout, stderr } = await folder.run(command, "key_nobody")
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(/^There is no key key_nobody\..*\n$/)
  })

  const mistakes: readonly [string, string[], RegExp][] = [
    ["no name", ["create"], /--name/],
    ["no sense in --expires", ["create", "--name", "x", "--expires", "soon"], /30d/],
    ["an empty pattern", ["create", "--name", "x", "--models", "a/*,,b/*"], /commas/],
    ["no sense in --grace", ["rotate", "key_x", "--grace", "1"], /30d/],
    ["an unknown command", ["destroy"], /destroy/],
  ]
  test("a mistake is rejected with a hint", async () => {
    const refusals = await Promise.all(mistakes.map(([, words]) => folder.run(...words)))
    for (const [index, { code, stderr }] of refusals.entries()) {
      const [, , hint = /^$/] = mistakes[index] ?? []
      expect(code).not.toBe(0)
      expect(stderr).toMatch(hint)
      expect(stderr).not.toContain("    at ")
    }
  })

  test("no key text is in the store, and only its owner can read the secret file", async () => {
    const { key } = await folder.create("stored")
    const files = readdirSync(folder.path).filter((name) => statSync(join(folder.path, name)).isFile())
    expect(files).toContain("trivium.db")
    for (const name of files) expect(readFileSync(join(folder.path, name), "latin1")).not.toContain(key)
    expect(statSync(join(folder.path, "secret")).mode & 0o777).toBe(0o600)
  })
})

describe("a gateway with stored keys", () => {
  const folder = new KeyFolder()
  const keys = { whole: "", scoped: "", expired: "", future: "", old: "", new: "", cut: "", replaced: "" }
  let upstream: ScriptedUpstream
  let gateway: RunningGateway

  beforeAll(async () => {
    upstream = await ScriptedUpstream.start()
    keys.whole = (await folder.create("whole")).key
    keys.scoped = (await folder.create("scoped", "--models", "other/*,test/mod*")).key
    keys.expired = (await folder.create("expired", "--expires", "2020-01-31")).key
    keys.future = (await folder.create("future", "--expires", "30d")).key
    const old = await folder.create("old")
    keys.old = old.key
    keys.new = (await folder.json<ShownKey>("rotate", old.id)).key ?? ""
    const cut = await folder.create("cut")
    keys.cut = cut.key
    keys.replaced = (await folder.json<ShownKey>("rotate", cut.id, "--grace", "0m")).key ?? ""
    gateway = await RunningGateway.start({
      config: upstreamConfig(upstream.baseUrl),
      dataDir: folder.path,
      key: keys.whole,
    })
  })
  afterAll(async () => {
    await gateway.stop()
    await upstream.stop()
    folder.remove()
  })

  async function knock(key: string): Promise<string> {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
    const response = await gateway.chat(HI, { headers })
    const { error } = (await response.json()) as { error?: { code: string } }
    return error ? `${response.status} ${error.code}` : String(response.status)
  }

  test("a gateway with stored keys prints no key at start", () => {
    expect(gateway.output.stdout).not.toMatch(KEY)
    expect(gateway.output.stdout).not.toContain("curl")
  })

  const doors: readonly [string, keyof typeof keys, string][] = [
    ["a key", "whole", "200"],
    ["a key whose scope holds the model", "scoped", "200"],
    ["a key before its expiry", "future", "200"],
    ["a rotated key", "new", "200"],
    ["a rotated key's old text, in its grace period", "old", "200"],
    ["a key rotated without grace", "replaced", "200"],
    ["the old text of a key rotated without grace", "cut", "401 revoked_api_key"],
    ["a key after its expiry", "expired", "401 expired_api_key"],
  ]
  test.each(doors)("a gateway with stored keys answers %s", async (_, name, expected) => {
    expect(await knock(keys[name])).toBe(expected)
  })

  test("a running gateway applies key changes of the command line at once", async () => {
    const { id, key } = await folder.create("late", "--models", "test/*", "--expires", "1h")
    expect(await knock(key)).toBe("200")
    expect(await folder.json<ShownKey[]>("list")).toContainEqual(
      expect.objectContaining({ id, name: "late", models: ["test/*"] }) as unknown as ShownKey,
    )
    const rotated = await folder.json<ShownKey>("rotate", id, "--grace", "0m")
    expect(await knock(key)).toBe("401 revoked_api_key")
    expect(await knock(rotated.key ?? "")).toBe("200")
    expect((await folder.run("revoke", id)).stdout).toBe(`Revoked ${id} (late).\n`)
    expect(await knock(rotated.key ?? "")).toBe("401 revoked_api_key")
  })

  test("a gateway with stored keys rejects an unknown id as the store would", async () => {
    const { code, stdout, stderr } = await folder.run("revoke", "key_nobody/../../x")
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(/^There is no key key_nobody.*\n$/)
  })

  test("a gateway with stored keys lists its models to the command line", async () => {
    const { code, stdout } = await runCommand(["models", "--data", folder.path], { folder: folder.path })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^MODEL +KIND +CONTEXT +SERVED BY\ntest\/model +chat +1000 +scripted\n$/)
    const all = await runCommand(["models", "--all", "--json", "--data", folder.path], { folder: folder.path })
    expect(JSON.parse(all.stdout).length).toBeGreaterThan(150)
  })

  test("a remote gateway is administered by its address and its administration key", async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), "trivium-elsewhere-"))
    try {
      const words = ["keys", "list", "--json", "--url", gateway.adminUrl]
      const stranger = await runCommand(words, { folder: elsewhere })
      expect({ code: stranger.code, stdout: stranger.stdout }).toEqual({ code: 1, stdout: "" })
      expect(stranger.stderr).toContain("TRIVIUM_ADMIN_KEY")
      const guess = await runCommand(words, {
        folder: elsewhere,
        environment: { TRIVIUM_ADMIN_KEY: "guessed-and-long-enough-key" },
      })
      expect(guess.stderr).toMatch(/not the administration key/)
      const TRIVIUM_ADMIN_KEY = readFileSync(join(folder.path, "admin-key"), "utf8").trim()
      const known = await runCommand(words, { folder: elsewhere, environment: { TRIVIUM_ADMIN_KEY } })
      expect(JSON.parse(known.stdout)).not.toBeEmpty()
    } finally {
      rmSync(elsewhere, { recursive: true })
    }
  })

  test("the administration key file is readable only by its owner", () => {
    expect(statSync(join(folder.path, "admin-key")).mode & 0o777).toBe(0o600)
    expect(gateway.output.stdout + gateway.output.stderr).not.toContain(
      readFileSync(join(folder.path, "admin-key"), "utf8").trim(),
    )
  })
})

describe("the first start", () => {
  test("the first start prints one key and a working curl line, and the second prints none", async () => {
    const data = mkdtempSync(join(tmpdir(), "trivium-first-"))
    const first = await RunningGateway.start({ dataDir: data })
    try {
      expect(new Set(first.output.stdout.match(new RegExp(KEY, "g")))).toEqual(new Set([first.key]))
      expect(first.output.stdout).toContain("Demo mode")
      expect(JSON.parse(await shell(curlLine(first)))).toMatchObject({ object: "chat.completion" })
      expect(first.output.stderr).not.toContain(first.key)
    } finally {
      await first.stop()
    }
    const second = await RunningGateway.start({ dataDir: data, key: first.key })
    try {
      expect(second.output.stdout).not.toMatch(KEY)
      expect(second.output.stdout).not.toContain("curl")
      expect((await second.chat({ ...HI, model: "openai/gpt-4o-mini" })).status).toBe(200)
    } finally {
      await second.stop()
      rmSync(data, { recursive: true, force: true })
    }
  })

  test("the first start with a provider configured prints a working curl line too", async () => {
    const upstream = await ScriptedUpstream.start()
    const gateway = await RunningGateway.start({ config: upstreamConfig(upstream.baseUrl) })
    try {
      expect(gateway.output.stdout).not.toContain("Demo mode")
      expect(JSON.parse(await shell(curlLine(gateway)))).toMatchObject({ object: "chat.completion" })
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  })

  function curlLine({ output }: RunningGateway): string {
    return /^ *curl (?:.*\\\n)*.*$/m.exec(output.stdout)?.[0] ?? ""
  }

  async function shell(line: string): Promise<string> {
    if (Bun.which("curl") === null) return withoutCurl(line)
    const child = spawn("sh", ["-c", line.replace("curl", "curl --silent --show-error")], { stdio: "pipe" })
    let printed = ""
    child.stdout.on("data", (bytes) => {
      printed += bytes
    })
    await new Promise((resolve) => child.once("close", resolve))
    return printed
  }

  async function withoutCurl(line: string): Promise<string> {
    const headers = [...line.matchAll(/-H "([^:]+): ([^"]+)"/g)].map(([, name = "", value = ""]) => [name, value])
    const [, url = ""] = /curl (\S+)/.exec(line) ?? []
    const [, body = ""] = /-d '([^']+)'/.exec(line) ?? []
    return (await fetch(url, { method: "POST", headers: Object.fromEntries(headers), body })).text()
  }
})

describe("trivium check", () => {
  const folder = mkdtempSync(join(tmpdir(), "trivium-check-"))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const check = (config: string, environment: Record<string, string> = {}) => {
    writeFileSync(join(folder, "trivium.yaml"), config)
    return runCommand(["check"], { folder, environment })
  }

  test("trivium check reports demo mode for an empty configuration", async () => {
    const { code, stdout } = await check("")
    expect(code).toBe(0)
    expect(stdout).toContain("demo mode")
  })

  test("trivium check reports whether each provider accepts its credential, and never shows one", async () => {
    const upstream = await ScriptedUpstream.start((request, reply) => {
      reply.json({}, request.headers.authorization === "Bearer upstream-credential" ? 200 : 401)
    })
    try {
      const good = await check(upstreamConfig(upstream.baseUrl))
      expect(good.code).toBe(0)
      expect(good.stdout).toMatch(/^scripted +http\S+ +configuration +accepted$/m)
      expect(upstream.lastRequest()).toMatchObject({ method: "GET", path: "/v1/models" })
      const bad = await check(upstreamConfig(upstream.baseUrl).replace("upstream-credential", "mistyped-credential"))
      expect(bad.code).toBe(1)
      expect(bad.stdout).toMatch(/^scripted +http\S+ +configuration +refused \(status 401\)$/m)
      expect(good.stdout + bad.stdout).not.toMatch(/upstream-credential|mistyped-credential/)
    } finally {
      await upstream.stop()
    }
  })

  test("trivium check reports a provider that does not answer", async () => {
    const { code, stdout } = await check(upstreamConfig("http://127.0.0.1:9/v1"))
    expect(code).toBe(1)
    expect(stdout).toContain("no response")
  })

  test("trivium check names every mistake by file, line and column, with the nearest known name", async () => {
    const { code, stdout, stderr } = await check(
      [
        "server: { prot: 8080 }",
        "providers:",
        '  opanai: { api_key: "sk-very-secret" }',
        `  openai: { api_key: "\${NOT_SET}" }`,
        "models:",
        "  - id: no-slash",
        "    targets: [{ provider: openia, model: m }]",
      ].join("\n"),
    )
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(/^trivium\.yaml:1:11 server\.prot: .*did you mean "port"\?$/m)
    expect(stderr).toMatch(/^trivium\.yaml:3:3 providers\.opanai: .*did you mean "openai"\?$/m)
    expect(stderr).toMatch(/^trivium\.yaml:4:22 providers\.openai\.api_key: .*NOT_SET/m)
    expect(stderr).toMatch(/^trivium\.yaml:6:9 models\[0\]\.id: .*"no-slash"/m)
    expect(stderr).toMatch(/^trivium\.yaml:7:27 models\[0\]\.targets\[0\]\.provider: .*did you mean "openai"\?$/m)
    expect(stderr).not.toContain("sk-very-secret")
    expect(stderr).not.toContain("    at ")
  })

  test("a gateway does not start with an invalid configuration", async () => {
    writeFileSync(join(folder, "trivium.yaml"), "server: { port: eighty }")
    const { code, stdout, stderr } = await runCommand(["serve", "--port", "0"], { folder })
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(/^trivium\.yaml:1:17 server\.port: /m)
  })
})
