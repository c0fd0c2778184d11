// The processes of a run. `endAll` ends each of them, and what they started, by its own id, however the run ends.
import { closeSync, openSync } from "node:fs"
import { environment, findBun, isolation } from "../bin/runtime.mjs"
import { isAlive, processTree } from "./process-stat.ts"

const taskset = Bun.which("taskset")

type SpawnOptions = {
  /** The core to run on; ignored where `taskset` is missing. */
  cpu?: number | undefined
  cwd?: string
  env?: Record<string, string | undefined>
  /** The files of standard output and standard error; discarded unless given. */
  log?: string
  onMessage?: (message: unknown) => void
}

export type ChildProcess = Bun.Subprocess<"ignore", number | "ignore", number | "ignore">

export class ChildProcesses {
  readonly #running = new Set<ChildProcess>()

  spawn(command: string[], options: SpawnOptions = {}): ChildProcess {
    const { cpu, cwd, env, log, onMessage } = options
    const pinned = taskset && cpu !== undefined ? [taskset, "-c", String(cpu), ...command] : command
    const output = log ? openSync(log, "a") : "ignore"
    const child: ChildProcess = Bun.spawn(pinned, {
      stdin: "ignore",
      stdout: output,
      stderr: output,
      env: env ?? { ...process.env, ...environment },
      ...(cwd ? { cwd } : {}),
      ...(onMessage ? { ipc: onMessage } : {}),
    })
    if (typeof output === "number") closeSync(output)
    this.#running.add(child)
    return child
  }

  /** Runs one of this folder's programs on the project's Bun, as the gateway's launcher would. */
  spawnBun([script, ...rest]: string[], options: SpawnOptions = {}): ChildProcess {
    return this.spawn([findBun(), ...isolation, `${import.meta.dir}/${script}`, ...rest], options)
  }

  async end(child: ChildProcess): Promise<void> {
    const pids = processTree(child.pid)
    if (child.exitCode === null) signal(child.pid, "SIGTERM")
    const deadline = performance.now() + 3000
    while (pids.some(isAlive) && performance.now() < deadline) await Bun.sleep(10)
    for (const pid of pids.filter(isAlive)) signal(pid, "SIGKILL")
    await child.exited
    this.#running.delete(child)
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#running].map((child) => this.end(child)))
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It ended between the look and the signal.
  }
}
