// Vertex with Google's Application Default Credentials: files of each kind, and the metadata server.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { answersWith, CloudHost, formOf, statusesOf } from "../stage/cloud-host.ts"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { geminiResponse } from "../stage/gemini-wire.ts"
import { completion, type ReceivedRequest, type UpstreamScript } from "../stage/upstream.ts"

const folder = mkdtempSync(join(tmpdir(), "trivium-google-"))
const SCOPE = "https://www.googleapis.com/auth/cloud-platform"
const AUDIENCE = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/cluster"
const SECRETS = /ya29\.|subject-token|refresh-token-of-user|secret-of-client/
const METADATA_PATH = "/computeMetadata/v1/instance/service-accounts/default/token"
let cloud: CloudHost

beforeAll(async () => {
  cloud = await CloudHost.start({
    "/v1/projects": (_, reply) => reply.json(completion("Hello.")),
    "/v1beta1/projects": (_, reply) => reply.json(geminiResponse("Hello.", "STOP")),
    "/subject": ({ headers }, reply) => reply.json({ value: headers["x-sent"] === "yes" ? "subject-token" : "" }),
    "/sts": (_, reply) => reply.json({ access_token: "ya29.exchanged", expires_in: 3600, token_type: "Bearer" }),
    "/impersonate": (_, reply) =>
      reply.json({ accessToken: "ya29.impersonated", expireTime: new Date(Date.now() + 3_600_000).toISOString() }),
    "/token": (_, reply) => reply.json({ access_token: "ya29.of-user", expires_in: 3599 }),
    [METADATA_PATH]: ({ headers }, reply) => {
      const sound = headers["metadata-flavor"] === "Google"
      reply.json(
        sound ? { access_token: "ya29.metadata", expires_in: 3599, token_type: "Bearer" } : {},
        sound ? 200 : 403,
      )
    },
  })
})
afterAll(async () => {
  await cloud.stop()
  rmSync(folder, { recursive: true, force: true })
})

function write(name: string, content: object | string): string {
  const file = join(folder, name)
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content))
  return file
}

function externalAccount(credentialSource: object, more: object = {}): object {
  return {
    type: "external_account",
    audience: AUDIENCE,
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: `${cloud.origin}/sts`,
    credential_source: credentialSource,
    ...more,
  }
}

const user = () => ({
  type: "authorized_user",
  client_id: "client",
  client_secret: "secret-of-client",
  refresh_token: "refresh-token-of-user",
  token_uri: `${cloud.origin}/token`,
})

function config(credentialsFile?: string): string {
  const file = credentialsFile === undefined ? "" : `, credentials_file: "${credentialsFile}"`
  return `
providers:
  vertex: { project: p, location: global, base_url: "${cloud.origin}"${file} }
models:
  - { id: test/model, pricing: { input: "1", output: "2" }, targets: [{ provider: vertex, model: gemini-test }] }
`
}

interface GoogleStartOptions {
  readonly file?: string
  readonly environment?: Record<string, string>
}

async function withGateway(
  { file, environment = {} }: GoogleStartOptions,
  act: (gateway: RunningGateway) => Promise<void>,
) {
  const gateway = await RunningGateway.start({ config: config(file), environment })
  try {
    await act(gateway)
  } finally {
    await gateway.stop()
  }
  expect(gateway.output.stdout + gateway.output.stderr).not.toMatch(SECRETS)
}

const ask = (gateway: RunningGateway) => () =>
  gateway.chat({ model: "test/model", messages: [{ role: "user", content: "hi" }] })

const sentToken = () => cloud.requestsTo("/v1").at(-1)?.headers.authorization

async function check({ file, environment = {} }: GoogleStartOptions) {
  writeFileSync(join(folder, "trivium.yaml"), config(file))
  const { code, stdout, stderr } = await runCommand(["check", "--json"], { folder, environment })
  expect(stdout + stderr).not.toMatch(SECRETS)
  const [vertex] = JSON.parse(stdout).providers
  return { code, ...vertex }
}

describe("workload identity", () => {
  test("workload identity exchanges the token of a file once for fifty calls, and again after the file has changed", async () => {
    const token = write("subject", "subject-token-1\n")
    const file = write("external.json", externalAccount({ file: token }))
    const short: UpstreamScript = (_, reply) => reply.json({ access_token: "ya29.short", expires_in: 20 })
    await withGateway({ file }, async (gateway) => {
      expect(await statusesOf(50, ask(gateway))).toEqual(Array.from({ length: 50 }, () => 200))
      expect(sentToken()).toBe("Bearer ya29.exchanged")
      expect(cloud.requestsTo("/sts").map(formOf)).toEqual([
        {
          grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
          audience: AUDIENCE,
          scope: SCOPE,
          requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
          subject_token: "subject-token-1",
          subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
        },
      ])
    })
    await cloud.during({ "/sts": short }, () =>
      withGateway({ file }, async (gateway) => {
        await statusesOf(1, ask(gateway))
        write("subject", "subject-token-2")
        await statusesOf(1, ask(gateway))
        expect(
          cloud
            .requestsTo("/sts")
            .slice(1)
            .map((request) => formOf(request).subject_token),
        ).toEqual(["subject-token-1", "subject-token-2"])
      }),
    )
  })

  test("workload identity exchanges the token of an address for that of a service account", async () => {
    const source = {
      url: `${cloud.origin}/subject`,
      headers: { "x-sent": "yes" },
      format: { type: "json", subject_token_field_name: "value" },
    }
    const more = {
      service_account_impersonation_url: `${cloud.origin}/impersonate`,
      service_account_impersonation: { token_lifetime_seconds: 2800 },
    }
    const file = write("impersonating.json", externalAccount(source, more))
    await withGateway({ environment: { GOOGLE_APPLICATION_CREDENTIALS: file } }, async (gateway) => {
      expect(await statusesOf(1, ask(gateway))).toEqual([200])
      expect(sentToken()).toBe("Bearer ya29.impersonated")
      expect(cloud.requestsTo("/impersonate")[0]).toMatchObject({
        method: "POST",
        headers: { authorization: "Bearer ya29.exchanged" },
      })
      const body = (request: ReceivedRequest | undefined) => JSON.parse(request?.body.toString() ?? "{}")
      expect(body(cloud.requestsTo("/impersonate")[0])).toEqual({ scope: [SCOPE], lifetime: "2800s" })
    })
    expect(await check({ file })).toMatchObject({
      code: 0,
      source: `workload identity file ${file}`,
      verdict: "accepted: a token was obtained",
    })
  })

  test("trivium check reports a missing token file by its path", async () => {
    const file = write("lost.json", externalAccount({ file: join(folder, "none") }))
    const { code, verdict } = await check({ file })
    expect(code).toBe(1)
    expect(verdict).toContain(
      `workload identity file ${file}: the file ${join(folder, "none")} cannot be read (ENOENT)`,
    )
  })

  test.each<[string, object, object, string]>([
    ["AWS", { environment_id: "aws1", url: "http://169.254.169.254" }, {}, 'needs a "file" or a "url"; AWS'],
    ["a command", { executable: { command: "run" } }, {}, 'needs a "file" or a "url"; AWS'],
    ["an open address", { url: "http://example.com" }, {}, '"url" is neither https nor on this machine'],
    ["an open exchange", { file: "f" }, { token_url: "http://example.com" }, '"token_url" is neither https nor on'],
  ])("a workload identity that uses %s is rejected with the configuration", async (_, source, more, message) => {
    writeFileSync(join(folder, "trivium.yaml"), config(write("wrong.json", externalAccount(source, more))))
    const { code, stdout } = await runCommand(["check", "--json"], { folder })
    expect(code).toBe(1)
    expect(JSON.parse(stdout).problems).toMatchObject([{ message: expect.stringContaining(message) }])
  })
})

test("a user's own credential is exchanged for a token", async () => {
  const file = write("user.json", user())
  await withGateway({ file }, async (gateway) => {
    expect(await statusesOf(1, ask(gateway))).toEqual([200])
    expect(sentToken()).toBe("Bearer ya29.of-user")
    expect(cloud.requestsTo("/token").map(formOf)).toEqual([
      {
        grant_type: "refresh_token",
        client_id: "client",
        client_secret: "secret-of-client",
        refresh_token: "refresh-token-of-user",
      },
    ])
  })
})

describe("the metadata server", () => {
  const environment = () => ({ GCE_METADATA_HOST: cloud.authority })

  test("the metadata server provides the token if no file is configured", async () => {
    await withGateway({ environment: environment() }, async (gateway) => {
      expect(await statusesOf(50, ask(gateway))).toEqual(Array.from({ length: 50 }, () => 200))
      expect(sentToken()).toBe("Bearer ya29.metadata")
      expect(cloud.requestsTo("/computeMetadata").map(({ method, path }) => [method, path])).toEqual([
        ["GET", METADATA_PATH],
      ])
    })
    expect(await check({ environment: environment() })).toMatchObject({ code: 0, source: "metadata server" })
  })

  test("an unreachable metadata server fails the call with 503, is reported with the remedy, and is retried soon", async () => {
    const down: UpstreamScript = (_, reply) => reply.cut("reset")
    await withGateway({ environment: environment() }, async (gateway) => {
      await cloud.during({ [METADATA_PATH]: down }, async () => {
        const before = cloud.requestsTo(METADATA_PATH).length
        expect(await statusesOf(20, ask(gateway))).toEqual(Array.from({ length: 20 }, () => 503))
        expect(cloud.requestsTo(METADATA_PATH).length - before).toBeLessThan(20)
      })
      await answersWith(200, ask(gateway))
      expect(gateway.logged("credential-not-obtained")[0]?.reason).toMatch(
        /^metadata server: no answer \(reset\)\. On Google Cloud, attach a service account/,
      )
    })
  })
})
