// The simulator as a user starts it, in a process of its own.
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const LAUNCHER = join(import.meta.dir, "..", "..", "bin", "trivium.mjs")

export class RunningSimulator {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  static async start(...words: string[]): Promise<RunningSimulator> {
    const folder = mkdtempSync(join(tmpdir(), "trivium-simulator-"))
    const child = spawn("node", [LAUNCHER, "simulate", "--port", "0", ...words], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? "", HOME: folder },
      stdio: ["ignore", "pipe", "inherit"],
    })
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout.on("data", (bytes) => {
        const found = /^listening on (\S+)$/m.exec(String(bytes))?.[1]
        if (found) resolve(found)
      })
      child.once("exit", (code) => reject(new Error(`the simulator ended with ${code}`)))
    })
    return new RunningSimulator(url, child, folder)
  }

  async stop(): Promise<void> {
    const exit = new Promise((resolve) => this.child.once("exit", resolve))
    this.child.kill("SIGTERM")
    await exit
    rmSync(this.folder, { recursive: true, force: true })
  }
}
