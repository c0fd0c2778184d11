// The gateway as a user starts it: the launcher, in an empty folder, in an empty environment, on a free port.
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

const root = join(import.meta.dir, "..", "..")
/** The single binary has no launcher that would restart it. */
export const HAS_LAUNCHER = process.env.TRIVIUM_TEST_BINARY === undefined
/** The launcher, or the single binary where the tests shall run on that. */
const [PROGRAM, ...LAUNCHER] = process.env.TRIVIUM_TEST_BINARY
  ? [resolve(root, process.env.TRIVIUM_TEST_BINARY)]
  : ["node", join(root, "bin", "trivium.mjs")]

export interface StartOptions {
  /** Lines of trivium.yaml; see `upstreamConfig`. */
  readonly config?: string
  readonly environment?: Record<string, string>
  /** A data folder that outlives the gateway. */
  readonly dataDir?: string
  /** The key for `chat`, where the data folder holds one already and this start makes none. */
  readonly key?: string
  /** Any free port by default. */
  readonly port?: number
  /** The launcher shall start it again when it crashes. */
  readonly restarts?: boolean
}

export class RunningGateway {
  private constructor(
    readonly url: string,
    /** The first key, where this start made one; else the one given. */
    readonly key: string,
    readonly folder: string,
    readonly dataDir: string,
    /** Its output and log so far. */
    readonly output: { stdout: string; stderr: string },
    private readonly launcher: ChildProcess,
    private readonly exit: Promise<number | null>,
  ) {}

  static async start({
    config,
    environment = {},
    dataDir,
    key: given = "",
    port = 0,
    restarts = false,
  }: StartOptions = {}): Promise<RunningGateway> {
    const folder = mkdtempSync(join(tmpdir(), "trivium-e2e-"))
    if (config !== undefined) writeFileSync(join(folder, "trivium.yaml"), config)
    const data = dataDir ?? join(folder, "data")
    const flags = ["--port", String(port), "--admin-port", "0", "--data", data, ...(restarts ? [] : ["--no-restart"])]
    const child = spawn(PROGRAM, [...LAUNCHER, "serve", ...flags], {
      cwd: folder,
      env: { ...scratchEnvironment(folder), ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    })
    const exit = new Promise<number | null>((resolve) => child.once("exit", resolve))
    const output = { stdout: "", stderr: "" }
    child.stderr.on("data", (bytes) => {
      output.stderr += bytes
    })
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout.on("data", (bytes) => {
        output.stdout += bytes
        const found = /^listening on (\S+)$/m.exec(output.stdout)?.[1]
        if (found) resolve(found)
      })
      void exit.then((code) => reject(new Error(`the gateway ended with ${code}: ${output.stderr}`)))
    })
    const first = /trv_[0-9A-Za-z]{49}/.exec(output.stdout)?.[0]
    const gateway = new RunningGateway(url, first ?? given, folder, data, output, child, exit)
    if (first !== undefined) await gateway.unlimitFirstKey()
    return gateway
  }

  /** Raises the rate limit, so that a test's result does not depend on its number of requests. */
  private async unlimitFirstKey(): Promise<void> {
    const listed = (await (await this.administer("/admin/v1/keys")).json()) as { keys: { id: string }[] }
    const body = JSON.stringify({ requests_per_minute: 1_000_000_000 })
    await this.administer(`/admin/v1/keys/${listed.keys[0]?.id}`, { method: "PATCH", body })
  }

  get adminUrl(): string {
    return /^administration on (\S+)$/m.exec(this.output.stdout)?.[1] ?? ""
  }

  /** A call to the administration, by default with its key. */
  administer(path: string, init: RequestInit = {}): Promise<Response> {
    const key = readFileSync(join(this.dataDir, "admin-key"), "utf8").trim()
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
    return fetch(this.adminUrl + path, { headers, ...init })
  }

  get launcherPid(): number {
    return this.launcher.pid ?? 0
  }

  /** The process that serves: a child of the launcher, or the binary itself. */
  get pid(): number {
    if (LAUNCHER.length === 0) return this.launcherPid
    const children = readFileSync(`/proc/${this.launcherPid}/task/${this.launcherPid}/children`, "utf8")
    return Number(children.trim().split(" ")[0])
  }

  /** Resident memory of the serving process. */
  get memoryMb(): number {
    return residentMb(this.pid)
  }

  signal(name: NodeJS.Signals): void {
    this.launcher.kill(name)
  }

  exited(): Promise<number | null> {
    return this.exit
  }

  /** A POST to chat completions with this gateway's first key. */
  chat(body: unknown, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.key}`, "content-type": "application/json" },
      body: typeof body === "string" || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
      ...init,
    })
  }

  /** The log lines so far of one event, such as `exchange`. */
  logged(event: string): Record<string, unknown>[] {
    const lines = this.output.stderr.split("\n").filter((line) => line.startsWith("{"))
    return lines.map((line) => JSON.parse(line)).filter((line) => line.event === event)
  }

  async stop(): Promise<void> {
    this.launcher.kill("SIGINT")
    await this.exit
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Runs one command to its end, as an operator would type it. */
export async function runCommand(
  words: readonly string[],
  { folder, environment = {}, input }: { folder: string; environment?: Record<string, string>; input?: string },
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(PROGRAM, [...LAUNCHER, ...words], {
    cwd: folder,
    env: { ...scratchEnvironment(folder), ...environment },
    stdio: ["pipe", "pipe", "pipe"],
  })
  // A command that reads none may have ended.
  child.stdin.on("error", () => {})
  child.stdin.end(input)
  let stdout = ""
  let stderr = ""
  child.stdout.on("data", (bytes) => {
    stdout += bytes
  })
  child.stderr.on("data", (bytes) => {
    stderr += bytes
  })
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve))
  return { code, stdout, stderr }
}

function residentMb(pid: number): number {
  const [, pages = "0"] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")
  return (Number(pages) * 4096) / 1024 / 1024
}

/** One model, `test/model`, served by one upstream under the name `upstream-model`. */
export function upstreamConfig(baseUrl: string, more = ""): string {
  return `
providers:
  scripted: { type: openai-compatible, protocols: [openai-chat, openai-responses, openai-embeddings, openai-images], base_url: "${baseUrl}", api_key: "upstream-credential" }
models:
  - { id: test/model, kind: chat, context_window: 1000, max_output_tokens: 100,
      pricing: { input: "1", output: "2" }, targets: [{ provider: scripted, model: upstream-model }] }
${more}`
}

/**
 * One model, `test/model`, served under the name `upstream-model` in each of the vendors' protocols by one upstream; or
 * only by some of these hosts, where it matters how often it is called.
 */
export function vendorsConfig(origin: string, more = "", hosts: readonly string[] = HOSTS): string {
  const targets = hosts.map((provider) => `{ provider: ${provider}, model: upstream-model }`)
  return `
providers:
  openai-like: { type: openai-compatible, protocols: [openai-chat, openai-responses, openai-embeddings, openai-images], base_url: "${origin}/v1", api_key: "upstream-credential" }
  anthropic-like: { type: anthropic-compatible, base_url: "${origin}", api_key: "upstream-credential" }
  gemini-like: { type: gemini-compatible, base_url: "${origin}", api_key: "upstream-credential" }
models:
  - { id: test/model, kind: chat, context_window: 1000, max_output_tokens: 100, pricing: { input: "1", output: "2" }, targets: [${targets}] }
${more}`
}

const HOSTS = ["openai-like", "anthropic-like", "gemini-like"]

function scratchEnvironment(folder: string): Record<string, string> {
  return { PATH: process.env.PATH ?? "", HOME: folder }
}
