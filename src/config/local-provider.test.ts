import { describe, expect, test } from "bun:test"
import { load as loadWith, problems as problemsWith } from "./load-config.fixture.ts"
import type { ConfigSources } from "./load-config.ts"

const knownProviders = [
  { id: "ollama", baseUrl: "http://127.0.0.1:11434/v1", hostVariable: "OLLAMA_HOST", discovery: {} },
  { id: "openai", baseUrl: "https://api.openai.com/v1", environmentVariable: "OPENAI_API_KEY" },
]
const given = (environment: ConfigSources["environment"]) => ({ knownProviders, environment })
const load = (yaml?: string, environment = {}) => loadWith(yaml, given(environment)).providers
const problems = (yaml?: string, environment = {}) => problemsWith(yaml, given(environment))

describe("a local server", () => {
  test.each(["providers: { ollama: {} }", "providers:\n  ollama:\n"])(
    "a local server is configured by an empty entry: %j",
    (yaml) => {
      expect(load(yaml)).toEqual([{ id: "ollama", type: "ollama" }])
    },
  )

  test("a local server without an entry is not used", () => {
    expect(load()).toEqual([])
  })
})

describe("OLLAMA_HOST", () => {
  test.each([
    ["127.0.0.1:11434", "http://127.0.0.1:11434/v1"],
    ["0.0.0.0", "http://127.0.0.1:11434/v1"],
    [":11500", "http://127.0.0.1:11500/v1"],
    ["ollama", "http://ollama:11434/v1"],
    ["http://ollama", "http://ollama/v1"],
    ["https://ollama.example:8443/", "https://ollama.example:8443/v1"],
    ["[::]:11434", "http://[::1]:11434/v1"],
    ["::1", "http://[::1]:11434/v1"],
  ])("OLLAMA_HOST=%s makes an entry with the address %s", (OLLAMA_HOST, baseUrl) => {
    expect(load(undefined, { OLLAMA_HOST })).toEqual([{ id: "ollama", type: "ollama", baseUrl }])
  })

  test("OLLAMA_HOST completes an entry without an address, and does not override one", () => {
    const OLLAMA_HOST = "gpu:11434"
    expect(load("providers: { ollama: {} }", { OLLAMA_HOST })[0]?.baseUrl).toBe("http://gpu:11434/v1")
    expect(load("providers: { mine: { type: ollama } }", { OLLAMA_HOST }).map(({ id }) => id)).toEqual([
      "mine",
      "ollama",
    ])
    const loaded = load('providers: { ollama: { base_url: "http://other/v1" } }', { OLLAMA_HOST })
    expect(loaded).toEqual([{ id: "ollama", type: "ollama", baseUrl: "http://other/v1" }])
  })

  test("an empty OLLAMA_HOST counts as unset", () => {
    expect(load(undefined, { OLLAMA_HOST: " " })).toEqual([])
  })

  test.each(["http://h/path", "user:pw@host", "a b", "host:99999"])(
    "an OLLAMA_HOST of %s is refused without repeating it",
    (OLLAMA_HOST) => {
      const [problem = ""] = problems(undefined, { OLLAMA_HOST })
      expect(problem).toContain("OLLAMA_HOST: expected an address")
      expect(problem).not.toContain(OLLAMA_HOST)
    },
  )
})

describe("discover", () => {
  test("`discover` is accepted by types whose models can be discovered", () => {
    expect(load("providers: { ollama: { discover: false } }")[0]?.discover).toBe(false)
    const mine = load('providers: { mine: { type: openai-compatible, base_url: "http://h/v1", discover: true } }')
    expect(mine[0]?.discover).toBe(true)
  })

  test("`discover` is unknown to all other types", () => {
    expect(problems("providers: { openai: { api_key: k, discover: true } }")[0]).toContain('unknown member "discover"')
  })
})
