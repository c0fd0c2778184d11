import { describe, expect, test } from "bun:test"
import { Secret } from "../config/secret.ts"
import type { SendRequest } from "../transport/http-client.ts"
import type { Provider } from "./contract.ts"
import { type AccountOptions, openAccounts } from "./open-account.ts"
import { knownProviders } from "./provider-table.ts"

const send: SendRequest = () => Promise.reject(new Error("not called"))
const apiKey = new Secret("the-key")
const aws = { accessKeyId: new Secret("id"), secretAccessKey: new Secret("secret") }
const google = {
  credentialsFile: {
    ...({ type: "service_account", file: "/key.json" } as const),
    ...{ clientEmail: "a@b", privateKey: new Secret("pem"), tokenUri: "https://token.example" },
  },
}

function secretSetting(variable: string, value: string): Record<string, Secret> {
  return { [variable]: new Secret(value) }
}

function findProvider(id: string): Provider {
  const provider = knownProviders.find((each) => each.id === id)
  if (!provider) throw new Error(`there is no ${id}`)
  return provider
}

function open(id: string, options: Partial<AccountOptions>) {
  return openAccounts(findProvider(id), { id, send, ...options })
}

describe("an account's address", () => {
  test.each<[string, string, Partial<AccountOptions>]>([
    ["openai", "https://api.openai.com/v1", { apiKey }],
    ["azure", "https://mine.openai.azure.com", { apiKey, resource: "mine" }],
    ["azure", "https://mine.openai.azure.com", { apiKey, baseUrl: "https://mine.openai.azure.com/openai/v1" }],
    ["azure", "https://mine.example", { apiKey, baseUrl: "https://mine.example" }],
    ["bedrock", "https://bedrock-runtime.eu-west-1.amazonaws.com", { ...aws, region: "eu-west-1" }],
    ["bedrock", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn", { ...aws, region: "cn-north-1" }],
    ["vertex", "https://us-central1-aiplatform.googleapis.com", { ...google, location: "us-central1" }],
    ["vertex", "https://aiplatform.googleapis.com", { ...google, location: "global" }],
    ["vertex", "https://aiplatform.eu.rep.googleapis.com", { ...google, location: "eu" }],
    ["vertex", "http://proxy", { ...google, location: "eu", baseUrl: "http://proxy" }],
  ])("an account's address at %s may be %s", (id, address, options) => {
    expect(open(id, options).map(({ baseUrl }) => baseUrl)).toEqual([address])
  })

  test("an account includes the vendor's other protocols unless its address was changed", () => {
    const [azure] = open("azure", { apiKey, resource: "mine" })
    const endpoint = azure?.endpoints["anthropic-messages"]
    expect(endpoint?.baseUrl).toBe("https://mine.services.ai.azure.com/anthropic")
    expect(endpoint?.headersWith({}).get("x-api-key")).toBe("the-key")
    const [moved] = open("azure", { apiKey, resource: "mine", baseUrl: "http://proxy" })
    expect(Object.keys(moved?.endpoints ?? {})).not.toContain("anthropic-messages")
  })
})

describe("accounts", () => {
  test("there is one account per key, each with its own credential", () => {
    const accounts = open("groq", { apiKeys: [new Secret("one"), new Secret("two")] })
    const authorizations = accounts.map(({ endpoints }) =>
      endpoints["openai-chat"]?.headersWith({}).get("authorization"),
    )
    expect(authorizations).toEqual(["Bearer one", "Bearer two"])
    expect(accounts.map(({ secrets }) => secrets().map((secret) => secret.reveal()))).toEqual([["one"], ["two"]])
  })

  test("there is no account without a credential or without an address", () => {
    expect(open("openai", {})).toEqual([])
    expect(open("vertex", { location: "global" })).toEqual([])
    expect(open("bedrock", { ...aws })).toEqual([])
    expect(open("cloudflare", { apiKey })).toEqual([])
    expect(open("ollama", {})).toHaveLength(1)
  })

  test("an account needs no credential of its own if the cloud gives one", () => {
    const ambient = {}
    const credentialsFile = {
      ...({ type: "external_account", file: "/external.json", audience: "a", subjectTokenType: "t" } as const),
      ...{ subjectToken: { file: "/token" }, tokenUrl: "https://token.example" },
    }
    expect(open("vertex", { credentialsFile, location: "global" })).toHaveLength(1)
    expect(open("bedrock", { ambient, region: "eu-west-1" })).toHaveLength(1)
    expect(open("vertex", { ambient, location: "global" })).toHaveLength(1)
    expect(open("azure", { ambient, resource: "mine" })).toHaveLength(1)
  })

  test.each<[string, string, Partial<AccountOptions>]>([
    ["configuration", "openai", { apiKey }],
    ["file /run/secrets/key", "openai", { apiKey: new Secret("k", "file /run/secrets/key") }],
    ["not needed", "ollama", {}],
    ["configuration", "bedrock", { ...aws, region: "r" }],
    ["instance metadata", "bedrock", { ambient: {}, region: "r" }],
    [
      "container credentials",
      "bedrock",
      { ambient: secretSetting("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2"), region: "r" },
    ],
    ["service account file /key.json", "vertex", { ...google, location: "global" }],
    ["metadata server", "vertex", { ambient: {}, location: "global" }],
    ["managed identity (instance metadata)", "azure", { ambient: {}, resource: "mine" }],
    [
      "Entra client secret (application app)",
      "azure",
      { tenantId: "t", clientId: "app", clientSecret: new Secret("s"), resource: "mine" },
    ],
    ["configuration", "azure", { ambient: {}, apiKey, resource: "mine" }],
  ])("an account names the origin of its credential: %s (%s)", (source, id, options) => {
    expect(open(id, options)[0]?.credentialSource).toBe(source)
  })

  test("an account lists all its secrets", () => {
    const [bedrock] = open("bedrock", { ...aws, sessionToken: new Secret("session"), region: "r" })
    expect(bedrock?.secrets().map((secret) => secret.reveal())).toEqual(["id", "secret", "session"])
    const [vertex] = open("vertex", { ...google, location: "global" })
    expect(vertex?.secrets().map((secret) => secret.reveal())).toEqual(["pem"])
  })
})

test("a host with models of several vendors serves each by its name", () => {
  const protocolsFor = (id: string, options: Partial<AccountOptions>, model: string) => {
    const endpoints = Object.entries(open(id, options)[0]?.endpoints ?? {})
    return endpoints.filter(([, endpoint]) => endpoint.serves?.(model) ?? true).map(([protocol]) => protocol)
  }
  const vertex = { ...google, location: "global" }
  expect(protocolsFor("vertex", vertex, "gemini-2.5-pro")).toEqual(["gemini-generate", "openai-chat"])
  expect(protocolsFor("vertex", vertex, "claude-opus-5@default")).toEqual(["anthropic-messages"])
  expect(protocolsFor("vertex", vertex, "xai/grok-4.3")).toEqual(["openai-chat"])
  const bedrock = { ...aws, region: "eu-west-1" }
  for (const model of ["anthropic.claude-opus-5", "global.anthropic.claude-opus-5", "arn:aws:bedrock:x:1:y/z"]) {
    expect(protocolsFor("bedrock", bedrock, model)).toEqual(["anthropic-messages", "bedrock-converse"])
  }
  expect(protocolsFor("bedrock", bedrock, "openai.gpt-5.5")).toEqual(["bedrock-converse"])
  expect(protocolsFor("azure", { apiKey, resource: "mine" }, "claude-opus-5")).toEqual(["anthropic-messages"])
  expect(protocolsFor("azure", { apiKey, resource: "mine" }, "gpt-4o")).not.toContain("anthropic-messages")
})
