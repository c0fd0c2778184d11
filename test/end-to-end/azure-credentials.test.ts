// Azure OpenAI with Entra's tokens: of an application, of a workload, of a managed identity.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { answersWith, CloudHost, formOf, statusesOf } from "../stage/cloud-host.ts"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { completion, type ReceivedRequest, type UpstreamReply, type UpstreamScript } from "../stage/upstream.ts"

const folder = mkdtempSync(join(tmpdir(), "trivium-azure-"))
const RESOURCE = "https://cognitiveservices.azure.com"
const SECRETS = /eyJ-token|secret-of-app|federated-token|identity-header/
const IMDS_PATH = "/metadata/identity/oauth2/token"
let cloud: CloudHost
let issued = 0
const valid = new Set<string>()

beforeAll(async () => {
  cloud = await CloudHost.start({
    "/openai/v1/": (request, reply) => {
      const known = valid.has(request.headers.authorization ?? "") && request.headers["api-key"] === undefined
      if (!known) return reply.json({ error: { code: "401", message: "Unauthorized." } }, 401)
      return reply.json(request.path.endsWith("/models") ? { data: [] } : completion("Hello."))
    },
    "/tenant/oauth2/v2.0/token": (_, reply) => reply.json({ ...token(), token_type: "Bearer", expires_in: 3599 }),
    "/msi/token": (request, reply) =>
      giveManaged(request, reply, request.headers["x-identity-header"] === "identity-header"),
    [IMDS_PATH]: (request, reply) => giveManaged(request, reply, request.headers.metadata === "true"),
  })
})
afterAll(async () => {
  await cloud.stop()
  rmSync(folder, { recursive: true, force: true })
})

function token(): { access_token: string } {
  const text = `eyJ-token-${++issued}`
  valid.add(`Bearer ${text}`)
  return { access_token: text }
}

function giveManaged(_: ReceivedRequest, reply: UpstreamReply, sound: boolean): void {
  const expiresOn = String(Math.floor(Date.now() / 1000) + 86_400)
  reply.json(
    sound ? { ...token(), expires_on: expiresOn, resource: RESOURCE, token_type: "Bearer" } : {},
    sound ? 200 : 400,
  )
}

function config(members = ""): string {
  return `
providers:
  azure: { base_url: "${cloud.origin}"${members} }
models:
  - { id: test/model, pricing: { input: "1", output: "2" }, targets: [{ provider: azure, model: my-deployment }] }
`
}

interface AzureStartOptions {
  readonly members?: string
  readonly environment?: Record<string, string>
}

async function withGateway(
  { members, environment = {} }: AzureStartOptions,
  act: (gateway: RunningGateway) => Promise<void>,
) {
  const gateway = await RunningGateway.start({ config: config(members), environment })
  try {
    await act(gateway)
  } finally {
    await gateway.stop()
  }
  expect(gateway.output.stdout + gateway.output.stderr).not.toMatch(SECRETS)
}

const ask = (gateway: RunningGateway) => () =>
  gateway.chat({ model: "test/model", messages: [{ role: "user", content: "hi" }] })

async function check({ members, environment = {} }: AzureStartOptions) {
  writeFileSync(join(folder, "trivium.yaml"), config(members))
  const { code, stdout, stderr } = await runCommand(["check", "--json"], { folder, environment })
  expect(stdout + stderr).not.toMatch(SECRETS)
  const [azure] = JSON.parse(stdout).providers
  return { code, ...azure }
}

describe("an application's secret", () => {
  const members = () => {
    writeFileSync(join(folder, "secret"), "secret-of-app\n")
    const secret = `file:${join(folder, "secret")}`
    return `, tenant_id: tenant, client_id: app, client_secret: "${secret}", authority_host: "${cloud.origin}"`
  }

  test("an application's secret is exchanged for a token once for fifty calls, and again if the token is rejected", async () => {
    await withGateway({ members: members() }, async (gateway) => {
      expect(await statusesOf(50, ask(gateway))).toEqual(Array.from({ length: 50 }, () => 200))
      expect(cloud.requestsTo("/tenant/").map(formOf)).toEqual([
        {
          grant_type: "client_credentials",
          client_id: "app",
          scope: `${RESOURCE}/.default`,
          client_secret: "secret-of-app",
        },
      ])
      valid.clear()
      expect(await statusesOf(1, ask(gateway))).toEqual([503])
      await answersWith(200, ask(gateway))
    })
    expect(await check({ members: members() })).toMatchObject({
      code: 0,
      source: "Entra client secret (application app)",
      verdict: "accepted",
    })
  })

  test("an application's secret of the environment is used by an entry without one", async () => {
    const environment = {
      AZURE_TENANT_ID: "tenant",
      AZURE_CLIENT_ID: "app",
      AZURE_CLIENT_SECRET: "secret-of-app",
      AZURE_AUTHORITY_HOST: `${cloud.origin}/`,
    }
    expect(await check({ environment })).toMatchObject({ code: 0, source: "Entra client secret (application app)" })
  })

  test("a rejected application secret is reported with Entra's error number", async () => {
    const body = { error: "invalid_client", error_description: "secret-of-app", error_codes: [7000215] }
    const refuse: UpstreamScript = (_, reply) => reply.json(body, 401)
    await cloud.during({ "/tenant/oauth2/v2.0/token": refuse }, async () => {
      const { code, verdict } = await check({ members: members() })
      expect(code).toBe(1)
      expect(verdict).toStartWith(
        "not obtained: Entra client secret (application app): it answered 401 (AADSTS7000215). Check tenant_id",
      )
    })
  })
})

test("a workload's federated token is exchanged for a token", async () => {
  const file = join(folder, "federated")
  writeFileSync(file, "federated-token")
  const environment = {
    AZURE_TENANT_ID: "tenant",
    AZURE_CLIENT_ID: "workload",
    AZURE_FEDERATED_TOKEN_FILE: file,
    AZURE_AUTHORITY_HOST: cloud.origin,
    IDENTITY_ENDPOINT: `${cloud.origin}/unused`,
    IDENTITY_HEADER: "identity-header",
  }
  await withGateway({ environment }, async (gateway) => {
    expect(await statusesOf(1, ask(gateway))).toEqual([200])
    const request = cloud.requestsTo("/tenant/").at(-1)
    expect(request && formOf(request)).toEqual({
      grant_type: "client_credentials",
      client_id: "workload",
      scope: `${RESOURCE}/.default`,
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: "federated-token",
    })
  })
  expect(await check({ environment })).toMatchObject({ source: "Entra workload identity (application workload)" })
})

describe("a managed identity", () => {
  test("a managed identity of App Service requests a token at the address and with the header of the environment", async () => {
    const environment = { IDENTITY_ENDPOINT: `${cloud.origin}/msi/token`, IDENTITY_HEADER: "identity-header" }
    await withGateway({ environment }, async (gateway) => {
      expect(await statusesOf(50, ask(gateway))).toEqual(Array.from({ length: 50 }, () => 200))
      const [request, ...others] = cloud.requestsTo("/msi/token")
      expect(others).toEqual([])
      const query = new URL(request?.path ?? "", cloud.origin).searchParams
      expect(Object.fromEntries(query)).toEqual({ "api-version": "2019-08-01", resource: RESOURCE })
    })
    expect(await check({ environment })).toMatchObject({ code: 0, source: "managed identity (App Service)" })
  })

  test("a managed identity of a virtual machine is requested by the client_id of the entry", async () => {
    const environment = { AZURE_POD_IDENTITY_AUTHORITY_HOST: cloud.origin }
    await withGateway({ members: ", client_id: chosen", environment }, async (gateway) => {
      expect(await statusesOf(1, ask(gateway))).toEqual([200])
      const query = new URL(cloud.requestsTo(IMDS_PATH)[0]?.path ?? "", cloud.origin).searchParams
      expect(Object.fromEntries(query)).toEqual({
        "api-version": "2018-02-01",
        resource: RESOURCE,
        client_id: "chosen",
      })
    })
    expect(await check({ environment })).toMatchObject({ source: "managed identity (instance metadata)" })
  })
})

test("a cloud credential is sent only to the vendor's addresses", async () => {
  writeFileSync(join(folder, "trivium.yaml"), 'providers:\n  azure: { base_url: "https://azure.example.com" }')
  const { code, stdout } = await runCommand(["check", "--json"], { folder })
  expect(code).toBe(1)
  expect(JSON.parse(stdout).problems[0].message).toEndWith(
    "credentials of the environment and the cloud go to hosts of the vendor's (*.azure.com, *.azure.us, *.azure.cn, *.azure-api.net) and to this machine only",
  )
})
