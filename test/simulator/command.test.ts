import { expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { runCommand, upstreamConfig } from "../stage/gateway.ts"

const LAUNCHER = join(import.meta.dir, "..", "..", "bin", "trivium.mjs")

test("trivium simulate serves until it is stopped, and writes its bills", async () => {
  const folder = mkdtempSync(join(tmpdir(), "trivium-simulate-"))
  const words = ["simulate", "--port", "0", "--first-token-ms", "100", "--tokens-per-second", "1000", "--jitter", "10"]
  const child = spawn("node", [LAUNCHER, ...words, "--seed", "seven", "--bill", "bill.jsonl"], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", HOME: folder },
    stdio: ["ignore", "pipe", "inherit"],
  })
  const exit = new Promise<number | null>((resolve) => child.once("exit", resolve))
  const url = await new Promise<string>((resolve) => {
    child.stdout.on("data", (bytes) => {
      const found = /^listening on (http:\/\/127\.0\.0\.1:\d+)$/m.exec(String(bytes))?.[1]
      if (found) resolve(found)
    })
  })
  const begun = performance.now()
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] })
  const answer = await fetch(`${url}/v1/chat/completions`, { method: "POST", body })
  const { id } = (await answer.json()) as { id: string }
  expect(performance.now() - begun).toBeGreaterThan(85)
  const [line = ""] = readFileSync(join(folder, "bill.jsonl"), "utf8").split("\n")
  expect(JSON.parse(line)).toMatchObject({ id, model: "m", ended: "complete" })

  writeFileSync(join(folder, "trivium.yaml"), upstreamConfig(`${url}/v1`))
  const checked = await runCommand(["check"], { folder })
  expect(checked.stdout).toContain("accepted")

  const stalled = fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    body,
    headers: { "x-simulate": "stall-before-headers" },
  })
  await Bun.sleep(100)
  child.kill("SIGTERM")
  expect(await stalled.catch((thrown) => thrown.code)).toBe("ECONNRESET")
  expect(await exit).toBe(0)
  rmSync(folder, { recursive: true })
})

test("a flag that is not a number is rejected with its range", async () => {
  const { code, stderr } = await runCommand(["simulate", "--jitter", "much"], { folder: tmpdir() })
  expect(code).toBe(1)
  expect(stderr).toContain("Give a whole number from 0 to 100.")
})
