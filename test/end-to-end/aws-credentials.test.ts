// Bedrock with AWS's role credentials, each from a server addressed as AWS's own tools would address it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { signatureFault } from "../providers/aws.ts"
import { anthropicMessage } from "../stage/anthropic-wire.ts"
import { answersWith, CloudHost, formOf, statusesOf } from "../stage/cloud-host.ts"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { completion, type ReceivedRequest, type UpstreamReply, type UpstreamScript } from "../stage/upstream.ts"

const folder = mkdtempSync(join(tmpdir(), "trivium-aws-"))
const ROLE = "arn:aws:iam::123456789012:role/gateway"
const SECRETS = /secret-of-role|session-of-role|identity-token|authorization-of-container|metadata-session/
let cloud: CloudHost
/** The lifetime of the keys issued now. */
let lifetimeMs = 3_600_000
let issued = 0

beforeAll(async () => {
  cloud = await CloudHost.start({
    "/model/": invoke,
    "/spare/chat/completions": (_, reply) => reply.json(completion("Spare.")),
    "/foundation-models": (request, reply) => reply.json({}, faultOf(request) === undefined ? 200 : 403),
  })
})
afterAll(async () => {
  await cloud.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** The keys that are issued next, in the words of the metadata servers. */
function keys() {
  issued++
  return {
    AccessKeyId: `ASIA${issued}`,
    SecretAccessKey: `secret-of-role-${issued}`,
    Token: `session-of-role-${issued}`,
    Expiration: new Date(Date.now() + lifetimeMs).toISOString().replace(/\.\d+Z$/, "Z"),
  }
}

function faultOf(request: ReceivedRequest): string | undefined {
  const number = /Credential=ASIA(\d+)\//.exec(request.headers.authorization ?? "")?.[1]
  if (request.headers["x-amz-security-token"] !== `session-of-role-${number}`) return "another session"
  return signatureFault(request, { accessKeyId: `ASIA${number}`, secretAccessKey: `secret-of-role-${number}` })
}

function invoke(request: ReceivedRequest, reply: UpstreamReply): void {
  const fault = faultOf(request)
  if (fault === undefined) reply.json(anthropicMessage("Hello."))
  else reply.json({ message: fault }, 403, { "x-amzn-errortype": "UnrecognizedClientException:http://x/" })
}

function config(): string {
  return `
providers:
  bedrock: { region: eu-west-1, base_url: "${cloud.origin}" }
  spare: { type: openai-compatible, base_url: "${cloud.origin}/spare", api_key: spare-key }
models:
  - { id: test/two, pricing: { input: "1", output: "2" }, targets: [{ provider: bedrock, model: anthropic.claude-test, priority: 1 },
      { provider: spare, model: spare, priority: 2 }] }
  - { id: test/model, pricing: { input: "1", output: "2" }, targets: [{ provider: bedrock, model: anthropic.claude-test }] }
`
}

/** A gateway in this environment, and what it printed and logged at its end. */
async function withGateway(environment: Record<string, string>, act: (gateway: RunningGateway) => Promise<void>) {
  const gateway = await RunningGateway.start({ config: config(), environment })
  try {
    await act(gateway)
  } finally {
    await gateway.stop()
  }
  expect(gateway.output.stdout + gateway.output.stderr).not.toMatch(SECRETS)
}

const ask =
  (gateway: RunningGateway, model = "test/model") =>
  () =>
    gateway.chat({ model, messages: [{ role: "user", content: "hi" }] })

async function check(environment: Record<string, string>) {
  writeFileSync(join(folder, "trivium.yaml"), config())
  const { code, stdout, stderr } = await runCommand(["check", "--json"], { folder, environment })
  expect(stdout + stderr).not.toMatch(SECRETS)
  const [bedrock] = JSON.parse(stdout).providers
  return { code, ...bedrock }
}

describe("container credentials", () => {
  const environment = () => {
    const file = join(folder, "authorization")
    writeFileSync(file, "authorization-of-container\n")
    return {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${cloud.origin}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
    }
  }
  const give: UpstreamScript = ({ headers }, reply) =>
    reply.json(headers.authorization === "authorization-of-container" ? keys() : {}, 200)

  test("container credentials are fetched once for fifty calls and used to sign them", async () => {
    lifetimeMs = 3_600_000
    await cloud.during({ "/v1/credentials": give }, () =>
      withGateway(environment(), async (gateway) => {
        const before = cloud.requestsTo("/v1/credentials").length
        expect(await statusesOf(50, ask(gateway))).toEqual(Array.from({ length: 50 }, () => 200))
        expect(cloud.requestsTo("/v1/credentials").length - before).toBe(1)
        expect(cloud.requestsTo("/v1/credentials").at(-1)).toMatchObject({ method: "GET" })
      }),
    )
  })

  test("container credentials are used while valid, then the answer is 503 until they are available again", async () => {
    lifetimeMs = 3000
    await cloud.during({ "/v1/credentials": give }, () =>
      withGateway(environment(), async (gateway) => {
        const call = ask(gateway)
        expect(await statusesOf(1, call)).toEqual([200])
        const down: UpstreamScript = (_, reply) =>
          reply.json({ code: "InternalFailure", message: "session-of-role" }, 500)
        await cloud.during({ "/v1/credentials": down }, async () => {
          expect(await statusesOf(5, call)).toEqual([200, 200, 200, 200, 200])
          const response = await answersWith(503, call)
          const { error } = (await response.json()) as { error: { code: string } }
          expect(error.code).toBe("upstream_unavailable")
          expect(JSON.stringify(error)).not.toMatch(SECRETS)
        })
        await answersWith(200, call)
        const [line] = gateway.logged("credential-not-obtained")
        expect(line).toMatchObject({ level: "warn", provider: "bedrock" })
        expect(line?.reason).toStartWith(
          "container credentials: it answered 500 (InternalFailure). Check the task's role",
        )
      }),
    )
  })

  test("container credentials are fetched again if the provider rejects them", async () => {
    lifetimeMs = 3_600_000
    await cloud.during({ "/v1/credentials": give }, () =>
      withGateway(environment(), async (gateway) => {
        const call = ask(gateway)
        expect(await statusesOf(1, call)).toEqual([200])
        const expired: UpstreamScript = (_, reply) =>
          reply.json({ message: "expired" }, 403, { "x-amzn-errortype": "ExpiredTokenException:http://x/" })
        await cloud.during({ "/model/": expired }, async () => {
          expect(await statusesOf(1, call)).toEqual([503])
        })
        const before = cloud.requestsTo("/v1/credentials").length
        await answersWith(200, call)
        expect(cloud.requestsTo("/v1/credentials").length - before).toBe(1)
      }),
    )
  })

  test("container credentials are never requested from a host that is neither local nor AWS", async () => {
    const { code, source, verdict } = await check({ AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://example.com/keys" })
    expect([code, source]).toEqual([1, "container credentials"])
    expect(verdict).toContain("AWS_CONTAINER_CREDENTIALS_FULL_URI is neither an https address, nor on this machine")
  })
})

describe("a web identity", () => {
  const environment = () => {
    const file = join(folder, "identity")
    writeFileSync(file, "identity-token")
    return {
      AWS_WEB_IDENTITY_TOKEN_FILE: file,
      AWS_ROLE_ARN: ROLE,
      AWS_ROLE_SESSION_NAME: "session",
      AWS_ENDPOINT_URL_STS: `${cloud.origin}/sts`,
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${cloud.origin}/unused`,
    }
  }
  const assume: UpstreamScript = (_, reply) => {
    const { AccessKeyId, SecretAccessKey, Token, Expiration } = keys()
    reply.raw(
      `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
  <Credentials><SessionToken>${Token}</SessionToken><SecretAccessKey>${SecretAccessKey}</SecretAccessKey>
    <Expiration>${Expiration}</Expiration><AccessKeyId>${AccessKeyId}</AccessKeyId></Credentials>
</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
      { "content-type": "text/xml" },
    )
  }

  test("a web identity is exchanged for a role's keys before container credentials are tried", async () => {
    lifetimeMs = 3_600_000
    await cloud.during({ "/sts": assume }, () =>
      withGateway(environment(), async (gateway) => {
        expect(await statusesOf(10, ask(gateway))).toEqual(Array.from({ length: 10 }, () => 200))
        const [request, ...others] = cloud.requestsTo("/sts")
        expect(others).toEqual([])
        expect(request?.headers["content-type"]).toBe("application/x-www-form-urlencoded")
        expect(request && formOf(request)).toEqual({
          Action: "AssumeRoleWithWebIdentity",
          Version: "2011-06-15",
          RoleArn: ROLE,
          RoleSessionName: "session",
          WebIdentityToken: "identity-token",
        })
        expect(cloud.requestsTo("/unused")).toEqual([])
      }),
    )
  })

  test("a rejected web identity is reported by check with its source, code and remedy, and calls fall back", async () => {
    const refuse: UpstreamScript = (_, reply) =>
      reply.raw(
        "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidIdentityToken</Code><Message>identity-token</Message></Error></ErrorResponse>",
        { "content-type": "text/xml" },
        400,
      )
    await cloud.during({ "/sts": refuse }, async () => {
      expect(await check(environment())).toMatchObject({
        code: 1,
        source: `web identity (${ROLE})`,
        sound: false,
        verdict: `not obtained: web identity (${ROLE}): it answered 400 (InvalidIdentityToken). Check AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE and the role's trust policy`,
      })
      await withGateway(environment(), async (gateway) => {
        const response = await ask(gateway)()
        expect(response.status).toBe(503)
        expect(await response.text()).toContain("The provider rejected the gateway's credential.")
        const moved = await ask(gateway, "test/two")()
        expect([moved.status, moved.headers.get("x-gateway-provider")]).toEqual([200, "spare"])
        await eventually(() => gateway.logged("credential-not-obtained").length === 1, { what: "the line in the log" })
      })
    })
  })
})

describe("instance metadata", () => {
  const routes = (): Record<string, UpstreamScript> => ({
    "/latest/api/token": ({ method, headers }, reply) => {
      const sound = method === "PUT" && headers["x-aws-ec2-metadata-token-ttl-seconds"] === "21600"
      reply.raw(sound ? "metadata-session" : "", { "content-type": "text/plain" }, sound ? 200 : 400)
    },
    "/latest/meta-data/iam/security-credentials/": ({ path, headers }, reply) => {
      if (headers["x-aws-ec2-metadata-token"] !== "metadata-session") return reply.raw("", {}, 401)
      if (path.endsWith("/gateway-role")) return reply.json({ Code: "Success", Type: "AWS-HMAC", ...keys() })
      return reply.raw("gateway-role", { "content-type": "text/plain" })
    },
  })

  test("instance metadata is read with version 2 if no other source is configured", async () => {
    lifetimeMs = 3_600_000
    await cloud.during(routes(), async () => {
      const environment = { AWS_EC2_METADATA_SERVICE_ENDPOINT: `${cloud.origin}/` }
      await withGateway(environment, async (gateway) => {
        expect(await statusesOf(50, ask(gateway))).toEqual(Array.from({ length: 50 }, () => 200))
        expect(cloud.requestsTo("/latest/").map(({ path }) => path)).toEqual([
          "/latest/api/token",
          "/latest/meta-data/iam/security-credentials/",
          "/latest/meta-data/iam/security-credentials/gateway-role",
        ])
      })
      expect(await check(environment)).toMatchObject({ code: 0, source: "instance metadata", verdict: "accepted" })
    })
  })

  test("instance metadata is not read if disabled, and an instance without a role is reported", async () => {
    const endpoint = { AWS_EC2_METADATA_SERVICE_ENDPOINT: cloud.origin }
    const disabled = await check({ ...endpoint, AWS_EC2_METADATA_DISABLED: "true" })
    expect(disabled.verdict).toContain("instance metadata: nothing names a credential, and AWS_EC2_METADATA_DISABLED")
    const none: UpstreamScript = (_, reply) => reply.raw("", {}, 404)
    await cloud.during({ ...routes(), "/latest/meta-data/iam/security-credentials/": none }, async () => {
      expect((await check(endpoint)).verdict).toContain("instance metadata: the instance has no role. On EC2, attach")
    })
  })
})

test("keys of the environment take precedence over a role", async () => {
  const environment = { AWS_ACCESS_KEY_ID: "AKID", AWS_SECRET_ACCESS_KEY: "k", AWS_ROLE_ARN: ROLE }
  expect(await check(environment)).toMatchObject({ source: "environment variable AWS_ACCESS_KEY_ID" })
})

test("AWS environment variables alone configure no provider and cause no call", async () => {
  const before = cloud.upstream.requests.length
  const environment = {
    AWS_REGION: "eu-west-1",
    AWS_ROLE_ARN: ROLE,
    AWS_EC2_METADATA_SERVICE_ENDPOINT: cloud.origin,
  }
  const gateway = await RunningGateway.start({ environment })
  expect(gateway.output.stdout).toContain("simulator")
  await gateway.stop()
  expect(cloud.upstream.requests.length).toBe(before)
})
