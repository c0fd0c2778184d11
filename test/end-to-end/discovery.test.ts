// Models of local servers are discovered from their listings, cost nothing, and are called like any other.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { eventually } from "../stage/eventually.ts"
import { freePort } from "../stage/free-port.ts"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { llamacpp, lmstudio, localServer, ollama, openaiListing, vllm } from "../stage/local-server.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"

const LISTINGS = {
  ollama: ollama("llama3.2:1b", "nomic-embed-text:latest"),
  vllm,
  llamacpp,
  lmstudio,
  mine: openaiListing({ id: "custom@v1" }, { id: "../../etc/passwd" }, { id: "a\u0007b" }, { id: "custom@v1" }),
}
type ListingName = keyof typeof LISTINGS

const MODELS = [
  "llamacpp/ggml-org/gemma-3-4b-it-GGUF:Q4_K_M",
  "lmstudio/qwen/qwen3-4b",
  "mine/custom@v1",
  "ollama/llama3.2:1b",
  "vllm/meta-llama/Llama-3.3-70B-Instruct",
]
const EMBEDDING_MODELS = ["lmstudio/text-embedding-nomic-embed-text-v1.5", "ollama/nomic-embed-text:latest"]

const servers = new Map<ListingName, ScriptedUpstream>()
let gateway: RunningGateway

function config(more = ""): string {
  const at = (entry: ListingName) => `base_url: "${servers.get(entry)?.baseUrl}"`
  return `
providers:
  ollama: { ${at("ollama")} }
  vllm: { ${at("vllm")}, api_key: local-key }
  llamacpp: { ${at("llamacpp")} }
  lmstudio: { ${at("lmstudio")} }
  mine: { type: openai-compatible, ${at("mine")}, discover: true }
${more}`
}

/** The ids that a caller sees. */
async function listed(there = gateway, path = "/v1/models"): Promise<string[]> {
  const response = await fetch(there.url + path, { headers: { authorization: `Bearer ${there.key}` } })
  const { data } = (await response.json()) as { data: { id: string }[] }
  return data.map(({ id }) => id).sort()
}

async function discovered(there: RunningGateway, count: number): Promise<void> {
  await eventually(() => there.logged("models-discovered").length >= count, { what: `${count} listings` })
}

beforeAll(async () => {
  for (const [entry, documents] of Object.entries(LISTINGS)) {
    servers.set(entry as ListingName, await ScriptedUpstream.start(localServer(documents)))
  }
  gateway = await RunningGateway.start({ config: config() })
  await discovered(gateway, 5)
})
afterAll(async () => {
  await gateway.stop()
  for (const server of servers.values()) await server.stop()
})

describe("discovered models", () => {
  test("discovered models are listed on every protocol, counted, and demo mode is off", async () => {
    expect(await listed()).toEqual([...MODELS, ...EMBEDDING_MODELS].sort())
    const headers = { authorization: `Bearer ${gateway.key}` }
    const json = async (path: string) => (await fetch(gateway.url + path, { headers })).json() as Promise<never>
    expect(await json("/v1/models/count")).toEqual({ count: 7 } as never)
    const gemini = (await json("/genapi/v1beta/models")) as { models: { name: string }[] }
    expect(gemini.models.map(({ name }) => name)).toContain("models/ollama/llama3.2:1b")
    const card = await json("/v1/models/vllm/meta-llama/Llama-3.3-70B-Instruct")
    expect(card).toMatchObject({ context_window: 32_768, pricing: { input: "0", output: "0" } })
    expect(gateway.output.stdout).not.toContain("Demo mode")
    expect(gateway.output.stdout).toMatch(/Discovering the models of .*ollama \(http:\/\/127.0.0.1:\d+\/v1\)/)
  })

  test("discovered models are listed by `trivium models` through the gateway, with their context windows", async () => {
    const words = ["models", "--json", "--data", gateway.dataDir]
    const { stdout } = await runCommand(words, { folder: gateway.folder })
    const windows = (JSON.parse(stdout) as { id: string; context_window: number }[]).map(
      ({ id, context_window }) => [id, context_window] as const,
    )
    expect(Object.fromEntries(windows)).toMatchObject({
      "ollama/llama3.2:1b": 131_072,
      "llamacpp/ggml-org/gemma-3-4b-it-GGUF:Q4_K_M": 8192,
      "lmstudio/qwen/qwen3-4b": 262_144,
    })
  })

  test.each(MODELS)(
    "the discovered model %s is called on three protocols, and each receipt shows a cost of 0",
    async (model) => {
      const headers = { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" }
      const messages = [{ role: "user", content: "hi" }]
      const contents = [{ role: "user", parts: [{ text: "hi" }] }]
      const calls: [string, object, object][] = [
        ["/v1/chat/completions", { model, messages }, {}],
        ["/v1/chat/completions", { model, messages, stream: true }, {}],
        ["/msgapi/v1/messages", { model, messages, max_tokens: 10 }, { "msg-version": "2023-06-01" }],
        [`/genapi/v1beta/models/${model}:generateContent`, { contents }, {}],
      ]
      for (const [path, body, more] of calls) {
        const sent = { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) }
        const response = await fetch(gateway.url + path, sent)
        const text = await response.text()
        expect([path, response.status, text.includes("Hello")]).toEqual([path, 200, true])
        expect(response.headers.get("x-gateway-provider")).toBe(model.split("/")[0] ?? "")
        const id = response.headers.get("x-request-id")
        const receipt = await (await fetch(`${gateway.url}/v1/receipts/${id}`, { headers })).json()
        expect(receipt).toMatchObject({ cost: "0", usage: { output: expect.any(Number) } })
      }
    },
  )

  test.each(EMBEDDING_MODELS)("the discovered model %s returns embeddings", async (model) => {
    const response = await fetch(`${gateway.url}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, input: "hi" }),
    })
    expect([response.status, response.headers.get("x-gateway-cost")]).toEqual([200, "0"])
  })

  test("discovered models are listed with the entry's credential", () => {
    const [request] = servers.get("vllm")?.requests ?? []
    expect([request?.path, request?.headers.authorization]).toEqual(["/v1/models", "Bearer local-key"])
  })

  test("discovered models with unsuitable names are dropped and counted in the log without their names", () => {
    const line = gateway.logged("models-left-out").find(({ provider }) => provider === "mine")
    expect(line).toMatchObject({ level: "warn", models: 2, reason: expect.stringContaining("names are not valid") })
    expect(gateway.output.stderr).not.toContain("passwd")
  })
})

describe("trivium check", () => {
  test("trivium check lists the models of each server, and reports unreachable ones with their address", async () => {
    const folder = mkdtempSync(join(tmpdir(), "trivium-check-"))
    writeFileSync(join(folder, "trivium.yaml"), config('  gone: { type: ollama, base_url: "http://127.0.0.1:1/v1" }\n'))
    const { code, stdout } = await runCommand(["check"], { folder })
    const { port } = servers.get("ollama") ?? {}
    expect(code).toBe(1)
    expect(stdout).toMatch(/^The configuration is valid. 7 of \d+ known models can be called/)
    expect(stdout).toMatch(new RegExp(`ollama +http://127.0.0.1:${port}/v1 +not needed +reachable, offers 2 models`))
    expect(stdout).toMatch(/gone +http:\/\/127.0.0.1:1\/v1 +not needed +not reachable: no response from this address/)
    expect(stdout).toContain("ollama offers ollama/llama3.2:1b, ollama/nomic-embed-text:latest.")
    rmSync(folder, { recursive: true })
  })

  test("trivium check of a running gateway lists discovered models as JSON", async () => {
    const response = await gateway.administer("/admin/v1/check", { method: "POST" })
    const { models, providers } = (await response.json()) as {
      models: { callable: number }
      providers: { provider: string; models?: string[] }[]
    }
    expect(models.callable).toBe(7)
    expect(providers.find(({ provider }) => provider === "mine")?.models).toEqual(["mine/custom@v1"])
  })
})

describe("a reload", () => {
  const change = async (text: string, there = gateway) => {
    const before = there.logged("config-reloaded").length
    writeFileSync(join(there.folder, "trivium.yaml"), text)
    await eventually(() => there.logged("config-reloaded").length > before, { what: "the reload" })
  }

  test("a reload keeps the known models while a listing is slow, then replaces them", async () => {
    const server = servers.get("mine")
    if (!server) throw new Error("there is no such server")
    let go = () => {}
    const waits = new Promise<void>((resolve) => {
      go = resolve
    })
    server.script = async (request, reply) => {
      if (request.method === "GET") await waits
      await localServer(openaiListing({ id: "newer" }))(request, reply)
    }
    const before = gateway.logged("models-discovered").length
    await change(config("# changed\n"))
    expect(await listed()).toContain("mine/custom@v1")
    go()
    await discovered(gateway, before + 5)
    expect(await listed()).toContain("mine/newer")
    expect(await listed()).not.toContain("mine/custom@v1")
  })

  test("a configured model takes precedence over a discovered one after a reload, with its price", async () => {
    const models = `models:
  - { id: ollama/llama3.2:1b, pricing: { input: "1", output: "2" }, targets: [{ provider: ollama, model: "llama3.2:1b" }] }
  - { id: acme/large, pricing: { input: "3", output: "4" }, targets: [{ provider: vllm, model: meta-llama/Llama-3.3-70B-Instruct }] }
`
    const before = gateway.logged("models-discovered").length
    await change(config(models))
    await discovered(gateway, before + 5)
    expect(await listed()).not.toContain("vllm/meta-llama/Llama-3.3-70B-Instruct")
    for (const [model, cost] of [
      ["ollama/llama3.2:1b", "0.000015"],
      ["vllm/meta-llama/Llama-3.3-70B-Instruct", "0.000039"],
    ]) {
      const answer = await gateway.chat({ model, messages: [{ role: "user", content: "hi" }] })
      expect([model, answer.status, answer.headers.get("x-gateway-cost")]).toEqual([model, 200, cost])
    }
  })

  test("a reload drops the models of an entry that is removed or has `discover: false`", async () => {
    await change(
      config()
        .replace(/ {2}(lmstudio|vllm):.*\n/g, "")
        .replace("ollama: {", "ollama: { discover: false,"),
    )
    expect(await listed()).toEqual(["llamacpp/ggml-org/gemma-3-4b-it-GGUF:Q4_K_M", "mine/newer"])
  })
})

describe("a local server", () => {
  test("a local server that is down at the start is logged once, and found when it starts", async () => {
    const port = await freePort()
    const there = await RunningGateway.start({ environment: { OLLAMA_HOST: `127.0.0.1:${port}` } })
    let server: ScriptedUpstream | undefined
    try {
      expect(there.output.stdout).not.toContain("Demo mode")
      expect(await listed(there)).toEqual([])
      await eventually(() => there.logged("models-not-discovered").length > 0)
      server = await ScriptedUpstream.start(localServer(ollama("late:1b")), port)
      await discovered(there, 1)
      expect(await listed(there)).toEqual(["ollama/late:1b"])
      const lines = there.logged("models-not-discovered")
      expect(lines).toHaveLength(1)
      expect(lines[0]).toMatchObject({ level: "warn", provider: "ollama" })
      expect(lines[0]?.reason).toContain(`http://127.0.0.1:${port}/v1 lists no models: no response from this address`)
    } finally {
      await there.stop()
      await server?.stop()
    }
  })

  test.each<[string, Parameters<typeof localServer>[0], string]>([
    ["with 1,500 models", openaiListing(...Array.from({ length: 1500 }, (_, at) => ({ id: `m${at}` }))), ""],
    ["that answers with something else", { "/v1/models": "<html>" }, "its response is not JSON"],
    ["that answers with 50 MB", { "/v1/models": `{"data":["${"x".repeat(50_000_000)}"]}` }, "larger than 4 MiB"],
  ])("a local server %s does no harm", async (_, documents, failure) => {
    const hostile = await ScriptedUpstream.start(localServer(documents))
    const entry = `providers:\n  big: { type: openai-compatible, base_url: "${hostile.baseUrl}", discover: true }\n`
    const there = await RunningGateway.start({ config: entry })
    try {
      const event = failure === "" ? "models-left-out" : "models-not-discovered"
      await eventually(() => there.logged(event).length > 0, { what: event })
      const [line] = there.logged(event)
      if (failure === "") expect(line).toMatchObject({ models: 500, provider: "big" })
      else expect(line?.reason).toContain(failure)
      expect(await listed(there)).toHaveLength(failure === "" ? 1000 : 0)
    } finally {
      await there.stop()
      await hostile.stop()
    }
  })
})
