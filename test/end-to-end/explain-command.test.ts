// `trivium explain`, as an operator types it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"
import { type ExplainAnswer, type ExplainBody, explainConfig, HI } from "./explain-stage.ts"

describe("trivium explain", () => {
  let upstream: ScriptedUpstream
  let running: RunningGateway
  beforeAll(async () => {
    upstream = await ScriptedUpstream.start()
    running = await RunningGateway.start({ config: explainConfig(upstream.origin) })
  })
  afterAll(async () => {
    await running.stop()
    await upstream.stop()
  })

  async function run(body: ExplainBody, words: readonly string[] = [], environment = { TRIVIUM_KEY: running.key }) {
    writeFileSync(join(running.folder, "request.json"), JSON.stringify(body))
    return runCommand(["explain", "request.json", ...words], { folder: running.folder, environment })
  }

  test("trivium explain shows a table of attempts, losses, the excluded providers, and the money", async () => {
    const body = { ...HI, model: "t/both", seed: 5, provider: { ignore: ["nobody"] } }
    const { code, stdout, stderr } = await run(body)
    expect([code, stderr]).toEqual([0, ""])
    const lines = stdout.split("\n").map((line) => line.replace(/ {2,}/g, "  "))
    expect(lines[0]).toBe("t/both over openai-chat, by priority and weight")
    expect(lines).toContain("#  MODEL  PROVIDER  NAME THERE  PROTOCOL  LANE  HEALTH  USD  LOSSES")
    expect(stdout).toMatch(
      /^1 +t\/both +messages +claude +anthropic-messages +translate +in +[\d.]+ \([\d.]+ to [\d.]+\) +1$/m,
    )
    expect(stdout).toMatch(/^2 +t\/both +chat +gpt +openai-chat +relay +in /m)
    expect(stdout).toMatch(/^1 +seed +hint +dropped +\S/m)
    expect(lines.at(-2)).toMatch(/^[\d.]+ USD would be held\.$/)
    const none = await run(body, ["--model", "t/messages", "--protocol", "anthropic-messages"])
    expect(none.stderr).toContain("max_tokens")
    expect(upstream.requests).toEqual([])
  })

  test.each([
    [{ contents: [{ parts: [{ text: "Hi" }] }] }, ["--model", "t/both"], "gemini-generate"],
    [{ ...HI, max_tokens: 5 }, ["--model", "t/both", "--protocol", "anthropic-messages"], "anthropic-messages"],
    [{ ...HI, max_tokens: 5, system: "Be brief." }, ["--model", "t/both"], "anthropic-messages"],
    [{ input: "Hi", model: "t/both" }, [], "openai-responses"],
    [{ prompt: "A cat", model: "t/image" }, [], "openai-images"],
    [{ input: "Hi", model: "t/embedding" }, ["--protocol", "openai-embeddings"], "openai-embeddings"],
  ])("the request %j with %p is explained over %s", async (body, words, protocol) => {
    const { stdout, stderr } = await run(body, [...words, "--json"])
    expect(stderr).toBe("")
    const { attempts, ...document } = JSON.parse(stdout) as ExplainAnswer
    expect(document).toMatchObject({ object: "explanation", protocol })
    expect(attempts[0]?.request.body).toStartWith("{")
  })

  test("trivium explain reads standard input, and queries a remote gateway", async () => {
    const words = ["explain", "--json", "--url", running.url, "--key", running.key]
    const child = spawn("node", [join(import.meta.dir, "..", "..", "bin", "trivium.mjs"), ...words], {
      env: { PATH: process.env.PATH ?? "", HOME: running.folder },
      cwd: tmpdir(),
    })
    child.stdin.end(JSON.stringify({ ...HI, model: "t/both" }))
    let stdout = ""
    child.stdout.on("data", (bytes) => {
      stdout += bytes
    })
    expect(await new Promise((resolve) => child.once("close", resolve))).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ object: "explanation", requested_model: "t/both" })
  })

  test("trivium explain prints what is wrong and how to fix it", async () => {
    const body = { ...HI, model: "t/both" }
    const stderrOf = async (...asking: Parameters<typeof run>) => {
      const { code, stdout, stderr } = await run(...asking)
      expect([code, stdout]).toEqual([1, ""])
      return stderr
    }
    expect(await stderrOf(body, [], {} as never)).toContain("Set TRIVIUM_KEY")
    expect(await stderrOf(HI)).toContain("--model")
    expect(await stderrOf({ ...body, model: "t/none" })).toContain("There is no model `t/none`.")
    expect(await stderrOf(body, ["--protocol", "smoke"])).toContain("openai-chat, openai-responses")
    expect(await stderrOf(body, ["--url", "http://127.0.0.1:1"])).toContain("does not respond")
    expect(await stderrOf(body, ["--data", join(running.folder, "elsewhere")])).toContain("No gateway is running")
    const words = ["explain", "nowhere.json"]
    expect((await runCommand(words, { folder: running.folder })).stderr).toContain(
      "nowhere.json cannot be read as JSON",
    )
  })
})
