import { describe, expect, test } from "bun:test"
import { generateKeyPairSync } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { AccountForm } from "./config.ts"
import { folder, load as loadWith, problems as problemsWith } from "./load-config.fixture.ts"
import { Secret } from "./secret.ts"

const azure: AccountForm = {
  members: {
    api_key: {},
    api_keys: {},
    api_version: {},
    resource: { variables: ["AZURE_RESOURCE"], needed: "for-address" },
    base_url: { variables: ["AZURE_ENDPOINT"] },
  },
  proofs: [{ needs: ["api_key"] }, { needs: ["api_keys"] }],
}
const bedrock: AccountForm = {
  members: {
    api_key: {},
    api_keys: {},
    access_key_id: { variables: ["AWS_ID"] },
    secret_access_key: { variables: ["AWS_SECRET"] },
    session_token: { variables: ["AWS_SESSION"] },
    region: { variables: ["AWS_REGION", "AWS_DEFAULT_REGION"], needed: "always" },
  },
  proofs: [
    { needs: ["api_key"] },
    { needs: ["api_keys"] },
    { needs: ["access_key_id", "secret_access_key"], mayHave: ["session_token"] },
  ],
}
const vertex: AccountForm = {
  members: {
    project: { variables: ["PROJECT"], needed: "always" },
    location: { needed: "always" },
    credentials_file: { variables: ["CREDENTIALS"] },
  },
  proofs: [{ needs: ["credentials_file"] }],
}
const knownProviders = [
  { id: "openai", environmentVariable: "OPENAI_API_KEY", baseUrl: "https://api.openai.com/v1" },
  { id: "cloudflare", environmentVariable: "CLOUDFLARE_API_TOKEN" },
  { id: "azure", environmentVariable: "AZURE_KEY", form: azure },
  { id: "bedrock", environmentVariable: "BEDROCK_KEY", form: bedrock },
  { id: "vertex", form: vertex },
]

type ProviderEnvironment = Record<string, string>
const load = (yaml: string | undefined, environment: ProviderEnvironment = {}) =>
  loadWith(yaml, { knownProviders, environment }).providers
const problems = (yaml: string | undefined, environment: ProviderEnvironment = {}) =>
  problemsWith(yaml, { knownProviders, environment })

/** The settings with their secrets in plain text, for comparisons. */
function plain(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal()
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
}

function writeKey(name: string, members: Record<string, unknown> | string): string {
  const file = join(folder, name)
  writeFileSync(file, typeof members === "string" ? members : JSON.stringify(members))
  return file
}

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 })
const PEM = rsa.privateKey.export({ type: "pkcs8", format: "pem" }).toString()
const KEY = { type: "service_account", client_email: "a@b.iam", private_key: PEM, private_key_id: "kid" }

describe("several keys", () => {
  test("each of several keys is a credential", () => {
    const [openai] = load("providers: { openai: { api_keys: [one, ' two '] } }")
    expect(openai?.apiKeys?.map((key) => key.reveal())).toEqual(["one", "two"])
    expect(JSON.stringify(openai)).not.toContain("one")
  })

  test("a list of keys excludes a single key and the key of the environment", () => {
    expect(problems("providers:\n  openai: { api_key: one, api_keys: [two] }")).toEqual([
      'trivium.yaml:2:3 providers.openai: it may have only one of "api_key" or "api_keys"',
    ])
    const [openai] = load("providers: { openai: { api_keys: [one] } }", { OPENAI_API_KEY: "two" })
    expect(openai?.apiKey).toBeUndefined()
  })

  test("a list of keys has at least one, and each is valid", () => {
    expect(problems("providers: { openai: { api_keys: [] } }")[0]).toEndWith("expected at least 1, found 0")
    expect(problems("providers: { openai: { api_keys: [ok, 'not ok'] } }")[0]).toContain(
      "providers.openai.api_keys[1]: ",
    )
  })
})

describe("a type's members", () => {
  test("a type's members are read into the settings that the type needs", () => {
    const yaml = `
providers:
  azure: { resource: My-Resource, api_key: k, api_version: 2024-10-21 }
  bedrock: { region: eu-west-1, access_key_id: id, secret_access_key: secret, session_token: session }
  second: { type: bedrock, region: us-east-1, api_key: k }
`
    expect(plain(load(yaml))).toEqual([
      { id: "azure", type: "azure", resource: "my-resource", apiKey: "k", apiVersion: "2024-10-21" },
      {
        ...{ id: "bedrock", type: "bedrock", region: "eu-west-1" },
        ...{ accessKeyId: "id", secretAccessKey: "secret", sessionToken: "session" },
      },
      { id: "second", type: "bedrock", region: "us-east-1", apiKey: "k" },
    ])
  })

  test("a member of another type is reported with the nearest known one", () => {
    expect(problems("providers:\n  openai: { region: x }\n  vertex: { api_key: k, projct: p, location: l }")).toEqual([
      'trivium.yaml:2:13 providers.openai.region: unknown member "region"; known: type, protocols, limit_member, salt_identifiers, base_url, api_key, api_keys',
      expect.stringContaining('providers.vertex: the type "vertex" needs a "project", or the variable PROJECT'),
      expect.stringContaining('providers.vertex: the type "vertex" needs "credentials_file"'),
      expect.stringContaining('providers.vertex.api_key: unknown member "api_key"'),
      expect.stringContaining('providers.vertex.projct: unknown member "projct"; did you mean "project"?'),
    ])
  })

  test("missing required members of a type are named", () => {
    expect(problems("providers:\n  azure: { api_key: k }\n  bedrock: { access_key_id: id }")).toEqual([
      'trivium.yaml:2:3 providers.azure: the type "azure" needs a "resource", or the variable AZURE_RESOURCE',
      'trivium.yaml:3:3 providers.bedrock: the type "bedrock" needs a "region", or the variable AWS_REGION',
      'trivium.yaml:3:3 providers.bedrock: the type "bedrock" needs "api_key" or "api_keys" or "access_key_id" with "secret_access_key"',
    ])
  })

  test("an invalid member of a type is reported once", () => {
    expect(problems("providers:\n  azure: { resource: a.b, api_key: [], api_version: latest }")).toEqual([
      'trivium.yaml:2:22 providers.azure.resource: "a.b" may contain only letters, digits and "-"',
      "trivium.yaml:2:36 providers.azure.api_key: expected a string, found a list",
      'trivium.yaml:2:53 providers.azure.api_version: "latest" is not a version such as "2024-10-21" or "2025-04-01-preview"',
    ])
  })

  test("members that make up the address are optional when base_url is set, the others stay required", () => {
    expect(plain(load("providers: { azure: { base_url: http://proxy, api_key: k } }"))).toMatchObject([
      { baseUrl: "http://proxy", apiKey: "k" },
    ])
    expect(problems("providers: { bedrock: { base_url: http://proxy, api_key: k } }")).toHaveLength(1)
  })
})

describe("the environment", () => {
  test("the environment makes an account from a dedicated key and an address", () => {
    expect(plain(load(undefined, { AZURE_KEY: "k", AZURE_RESOURCE: "mine" }))).toEqual([
      { id: "azure", type: "azure", apiKey: "k", resource: "mine" },
    ])
    expect(plain(load(undefined, { AZURE_KEY: "k", AZURE_ENDPOINT: "https://mine.example/" }))).toMatchObject([
      { baseUrl: "https://mine.example" },
    ])
    expect(plain(load(undefined, { BEDROCK_KEY: "k", AWS_DEFAULT_REGION: "eu-west-1" }))).toMatchObject([
      { apiKey: "k", region: "eu-west-1" },
    ])
    expect(load(undefined, { AZURE_KEY: "k" })).toEqual([])
    expect(load(undefined, { BEDROCK_KEY: "k" })).toEqual([])
    expect(load(undefined, { CLOUDFLARE_API_TOKEN: "k" })).toEqual([])
  })

  test("the environment makes no account from variables that many machines set for other purposes", () => {
    const file = writeKey("elsewhere.json", KEY)
    const environment = { AWS_ID: "id", AWS_SECRET: "secret", AWS_REGION: "eu-west-1", CREDENTIALS: file, PROJECT: "p" }
    expect(load(undefined, environment)).toEqual([])
  })

  test("the environment completes an entry, its credential as a whole", () => {
    const environment = { AWS_ID: "id", AWS_SECRET: "secret", AWS_SESSION: "session", AWS_REGION: "eu-west-1" }
    expect(plain(load("providers: { bedrock: }", environment))).toMatchObject([
      { region: "eu-west-1", accessKeyId: "id", secretAccessKey: "secret", sessionToken: "session" },
    ])
    const [bedrock] = load("providers: { bedrock: { region: us-east-1, api_key: k } }", environment)
    expect(plain(bedrock)).toEqual({ id: "bedrock", type: "bedrock", region: "us-east-1", apiKey: "k" })
    expect(problems("providers: { bedrock: { access_key_id: mine } }", environment)).toHaveLength(1)
  })

  test("the environment gives no credential to a custom address", () => {
    const environment = { AZURE_KEY: "k", AWS_ID: "id", AWS_SECRET: "secret" }
    expect(problems("providers: { azure: { base_url: http://other } }", environment)[0]).toContain('needs "api_key"')
    expect(problems("providers: { bedrock: { base_url: http://other, region: r1 } }", environment)).toHaveLength(1)
  })

  test("the environment does not change an entry's address", () => {
    const environment = { AZURE_ENDPOINT: "https://elsewhere.example" }
    const [azure] = load("providers: { azure: { resource: mine, api_key: k } }", environment)
    expect(plain(azure)).toEqual({ id: "azure", type: "azure", resource: "mine", apiKey: "k" })
  })

  test("an invalid variable is reported by name, once, and only if it is used", () => {
    const wrong = { AWS_REGION: "eu west", BEDROCK_KEY: "k" }
    expect(problems(undefined, wrong)).toEqual(['AWS_REGION: "eu west" may contain only letters, digits and "-"'])
    expect(load("providers: { bedrock: { region: eu-west-1, api_key: k } }", wrong)).toHaveLength(1)
    const twice = "providers: { bedrock: { api_key: k }, second: { type: bedrock, api_key: k } }"
    expect(problems(twice, wrong).filter((line) => line.startsWith("AWS_REGION"))).toHaveLength(1)
  })
})

describe("a service account's file", () => {
  const entry = (file: string) => `providers:\n  vertex: { project: p, location: global, credentials_file: "${file}" }`

  test("a service account's file is read relative to the working directory, and its key is kept secret", () => {
    writeKey("google.json", { ...KEY, token_uri: "https://token.example/t" })
    const [vertex] = load(entry("google.json"))
    expect(plain(vertex?.credentialsFile)).toEqual({
      type: "service_account",
      file: join(folder, "google.json"),
      clientEmail: "a@b.iam",
      privateKey: PEM,
      privateKeyId: "kid",
      tokenUri: "https://token.example/t",
    })
    expect(JSON.stringify(vertex)).not.toContain("PRIVATE KEY")
    writeKey("google.json", KEY)
    expect(load(entry("google.json"))[0]?.credentialsFile).toMatchObject({
      tokenUri: "https://oauth2.googleapis.com/token",
    })
  })

  test.each<[string, Record<string, unknown> | string, string]>([
    ["no JSON", "-----BEGIN PRIVATE KEY-----\nc2VjcmV0", "is not a JSON object"],
    ["a list", "[]", "is not a JSON object"],
    [
      "another credential",
      { type: "gdch_service_account" },
      '"type" is "gdch_service_account", not one of "service_account"',
    ],
    ["no key", { ...KEY, private_key: undefined }, 'the member "private_key" is missing'],
    ["no name", { ...KEY, client_email: undefined }, 'the member "client_email" is missing'],
    ["half a key", { ...KEY, private_key: PEM.slice(0, 200) }, '"private_key" is not an RSA key in PEM'],
    ["another kind of key", { ...KEY, private_key: ed25519() }, '"private_key" is not an RSA key in PEM'],
    ["an odd address", { ...KEY, token_uri: "file:///etc/passwd" }, '"token_uri" is not an address'],
    [
      "an open address",
      { ...KEY, token_uri: "http://token.example" },
      '"token_uri" is neither https nor on this machine',
    ],
  ])("a service account's file that holds %s is refused, without repeating any of it", (_, members, message) => {
    const [line = "", ...others] = problems(entry(writeKey("wrong.json", members)))
    expect(line).toStartWith("trivium.yaml:2:")
    expect(line).toContain("providers.vertex.credentials_file: the file ")
    expect(line).toContain(message)
    expect(line).not.toContain("c2VjcmV0")
    expect(others).toEqual([])
  })

  test("a missing or unreadable service account's file is reported", () => {
    expect(problems(entry("none.json"))[0]).toEndWith(`there is no file ${join(folder, "none.json")}`)
    expect(problems(entry(folder))[0]).toEndWith(`${folder} is not a regular file`)
    const named = problems("providers: { vertex: { project: p, location: global } }", { CREDENTIALS: "none.json" })
    expect(named[0]).toBe(`CREDENTIALS: there is no file ${join(folder, "none.json")}`)
  })
})

describe("an entry without a credential", () => {
  const ambient = { variables: ["ROLE", "ROLE_SECRET"], hosts: [".vendor.example"] }
  const cloudProviders = [
    { id: "bedrock", environmentVariable: "BEDROCK_KEY", form: { ...bedrock, ambient } },
    {
      id: "azure",
      environmentVariable: "AZURE_KEY",
      form: {
        members: { ...azure.members, tenant_id: {}, client_id: {}, client_secret: {} },
        proofs: [...azure.proofs, { needs: ["tenant_id", "client_id", "client_secret"] as const }],
        ambient: { ...ambient, mayHave: ["tenant_id", "client_id"] as const },
      },
    },
  ]
  const read = (yaml: string, environment: ProviderEnvironment = {}) =>
    loadWith(yaml, { knownProviders: cloudProviders, environment }).providers[0]
  const wrong = (yaml: string, environment: ProviderEnvironment = {}) =>
    problemsWith(yaml, { knownProviders: cloudProviders, environment })

  test("an entry without a credential uses the cloud's, with the variables that locate it", () => {
    const environment = { ROLE: "reader", ROLE_SECRET: "hidden", OTHER: "x" }
    const entry = read("providers: { bedrock: { region: eu-west-1 } }", environment)
    expect(plain(entry?.ambient)).toEqual({ ROLE: "reader", ROLE_SECRET: "hidden" })
    expect(JSON.stringify(entry)).not.toContain("hidden")
    expect(read("providers: { bedrock: { region: eu-west-1 } }")?.ambient).toEqual({})
  })

  test("an entry without a credential prefers one of the environment, and names its origin", () => {
    const entry = read("providers: { bedrock: { region: eu-west-1 } }", { AWS_ID: "id", AWS_SECRET: "s", ROLE: "r" })
    expect(entry?.ambient).toBeUndefined()
    expect(entry?.accessKeyId?.origin).toBe("environment variable AWS_ID")
  })

  test("an entry with half of a credential is not completed by the cloud's", () => {
    expect(wrong("providers: { bedrock: { region: eu-west-1, access_key_id: id } }")[0]).toContain("needs")
    expect(wrong("providers: { azure: { resource: r, client_id: c, client_secret: s } }")[0]).toContain("needs")
  })

  test("an entry without a credential gets none at an address that is neither the vendor's nor on this machine", () => {
    const at = (address: string) => `providers: { bedrock: { region: eu-west-1, base_url: "${address}" } }`
    expect(read(at("https://private.vendor.example"))?.ambient).toEqual({})
    expect(read(at("http://127.0.0.1:4566"))?.ambient).toEqual({})
    for (const address of ["https://elsewhere.example", "https://vendor.example.com", "https://xvendor.example"]) {
      expect(wrong(at(address), { AWS_ID: "id", AWS_SECRET: "s" })[0]).toEndWith(
        "credentials of the environment and the cloud go to hosts of the vendor's (*.vendor.example) and to this machine only",
      )
    }
  })

  test("an entry without a credential may select one of the cloud's identities, even at a custom address", () => {
    const entry = read('providers: { azure: { base_url: "https://elsewhere.example", client_id: c } }')
    expect(plain(entry)).toMatchObject({ clientId: "c", ambient: {} })
  })

  test("the environment alone does not make an entry that uses the cloud's credential", () => {
    const environment = { ROLE: "reader", AWS_REGION: "eu-west-1" }
    expect(loadWith(undefined, { knownProviders: cloudProviders, environment }).providers).toEqual([])
  })
})

function ed25519(): string {
  return generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString()
}
