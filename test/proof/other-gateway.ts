// A gateway that users do not start like this: with another ledger, or under a shell's limits. It prints its address in
// the words of `trivium serve`.
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { RunningGateway } from "../stage/gateway.ts"

/** The part of a gateway that the money rows use. */
export type StagedGateway = Pick<RunningGateway, "url" | "pid" | "exited" | "administer" | "stop">

export interface GatewayStart {
  /** Lines of trivium.yaml. */
  readonly config: string
  readonly dataDir: string
}

export class OtherGateway implements StagedGateway {
  private constructor(
    readonly url: string,
    private readonly output: { stdout: string; stderr: string },
    private readonly folder: string,
    private readonly dataDir: string,
    private readonly child: ChildProcess,
    private readonly exit: Promise<number | null>,
  ) {}

  /** `command` is run in a folder with the configuration, and `dataDir` is its last argument. */
  static async start(command: readonly string[], { config, dataDir }: GatewayStart): Promise<OtherGateway> {
    const folder = mkdtempSync(join(tmpdir(), "trivium-other-"))
    writeFileSync(join(folder, "trivium.yaml"), config)
    const [program = "", ...words] = command
    const child = spawn(program, [...words, dataDir], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? "", HOME: folder },
      stdio: ["ignore", "pipe", "pipe"],
    })
    const output = { stdout: "", stderr: "" }
    child.stderr.on("data", (bytes) => {
      output.stderr += bytes
    })
    const exit = new Promise<number | null>((resolve) => child.once("exit", resolve))
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout.on("data", (bytes) => {
        output.stdout += bytes
        const found = addressIn(output.stdout, "listening")
        if (found) resolve(found)
      })
      void exit.then((code) => reject(new Error(`the gateway ended with ${code}: ${output.stderr}`)))
    })
    return new OtherGateway(url, output, folder, dataDir, child, exit)
  }

  /** The pid of the started process; one that starts another must replace itself with it. */
  get pid(): number {
    return this.child.pid ?? 0
  }

  administer(path: string, init: RequestInit = {}): Promise<Response> {
    const key = readFileSync(join(this.dataDir, "admin-key"), "utf8").trim()
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
    return fetch(addressIn(this.output.stdout, "administration") + path, { headers, ...init })
  }

  exited(): Promise<number | null> {
    return this.exit
  }

  async stop(): Promise<void> {
    this.child.kill("SIGINT")
    await this.exit
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function addressIn(output: string, what: "listening" | "administration"): string {
  return new RegExp(`^${what} on (\\S+)$`, "m").exec(output)?.[1] ?? ""
}

/** Ends it as nothing can be prepared for, and leaves only its data folder. */
export async function killGateway(gateway: StagedGateway): Promise<void> {
  process.kill(gateway.pid, "SIGKILL")
  await gateway.exited()
  await gateway.stop()
}

const CHECK_THEN_ACT = new URL("./check-then-act.ts", import.meta.url).pathname

/** The negative control. */
export function startCheckThenAct(start: GatewayStart): Promise<OtherGateway> {
  return OtherGateway.start([process.execPath, CHECK_THEN_ACT], start)
}
