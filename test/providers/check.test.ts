import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { runCommand } from "../stage/gateway.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"
import { signatureFault } from "./aws.ts"
import { keyFile, TokenOffice } from "./google.ts"

const folder = mkdtempSync(join(tmpdir(), "trivium-check-"))
const credential = { accessKeyId: "AKIDTEST", secretAccessKey: "secret-of-the-test" }
const office = new TokenOffice()
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await ScriptedUpstream.start((request, reply) => {
    const { path, headers } = request
    if (path === office.path) return office.exchange(request, reply)
    if (path === "/foundation-models") return reply.json({}, signatureFault(request, credential) ? 403 : 200)
    if (path === "/openai/v1/models") return reply.json({ data: [] }, headers["api-key"] === "azure-key" ? 200 : 401)
    return reply.json({ data: [] }, headers.authorization === "Bearer good-key" ? 200 : 401)
  })
  writeFileSync(join(folder, "key.json"), JSON.stringify(keyFile(`${upstream.origin}${office.path}`)))
})
afterAll(async () => {
  await upstream.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** The output of `trivium check` for each provider, and its exit code. */
async function check(providers: string) {
  writeFileSync(join(folder, "trivium.yaml"), `providers:\n${providers}`)
  const { code, stdout } = await runCommand(["check"], { folder })
  const [, table = ""] = stdout.split("\n\n")
  const rows = table.trim().split("\n").slice(1)
  return { code, verdicts: rows.map((row) => row.replace(upstream.origin, "").split(/\s{2,}/)), stdout }
}

test("check reports for each signed provider whether its credential is accepted", async () => {
  const at = `base_url: "${upstream.origin}"`
  const keys = `access_key_id: ${credential.accessKeyId}, secret_access_key: ${credential.secretAccessKey}`
  const { code, verdicts } = await check(`
  azure: { ${at}, api_key: azure-key }
  bedrock: { ${at}, region: eu-west-1, ${keys} }
  vertex: { ${at}, project: p, location: global, credentials_file: key.json }
`)
  expect(verdicts.map(([id, ...rest]) => [id, rest.at(-1)])).toEqual([
    ["azure", "accepted"],
    ["bedrock", "accepted"],
    ["vertex", "accepted: a token was obtained"],
  ])
  expect(code).toBe(0)
})

test("check reports for each account of a provider why it is rejected, without its credential", async () => {
  const at = `base_url: "${upstream.origin}"`
  office.refusal = { status: 400, body: { error: "invalid_grant", error_description: "Invalid JWT Signature." } }
  const { code, verdicts, stdout } = await check(`
  openai: { ${at}, api_keys: [good-key, bad-key] }
  bedrock: { ${at}, region: eu-west-1, access_key_id: AKIDTEST, secret_access_key: wrong-secret }
  vertex: { ${at}, project: p, location: global, credentials_file: key.json }
`)
  office.refusal = undefined
  expect(verdicts.map(([id, ...rest]) => [id, rest.at(-1)])).toEqual([
    ["openai (1 of 2)", "accepted"],
    ["openai (2 of 2)", "refused (status 401)"],
    ["bedrock", "refused (status 403)"],
    [
      "vertex",
      expect.stringMatching(/^not obtained: service account file .*: it answered 400 \(invalid_grant\)\. Check /),
    ],
  ])
  expect(code).toBe(1)
  expect(stdout).not.toMatch(/good-key|bad-key|wrong-secret|PRIVATE/)
})
