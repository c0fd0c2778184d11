// A full disk for a running gateway: no file of its process may grow beyond a size.
import { spawnSync } from "node:child_process"
import { statSync } from "node:fs"
import { join } from "node:path"

const PRLIMIT = Bun.which("prlimit")

/** Whether a running process can be put under such a limit here. */
export const canLimit = PRLIMIT !== null

/** Nothing can be written at all. */
export const NOTHING_FITS = 4096

/** Files of this process end at so many bytes: what is written beyond fails, as on a full disk. */
export function limitFiles(pid: number, bytes: number): void {
  prlimit(pid, `--fsize=${bytes}:`)
}

export function liftLimit(pid: number): void {
  prlimit(pid, "--fsize=unlimited:")
}

/** Only the soft limit is changed, which the owner of the process may lift again. */
function prlimit(pid: number, limit: string): void {
  if (PRLIMIT === null) throw new Error("there is no prlimit here; it comes with util-linux")
  const { status, stderr } = spawnSync(PRLIMIT, ["--pid", String(pid), limit], { encoding: "utf8" })
  if (status !== 0) throw new Error(`prlimit ${limit} ended with ${status}: ${stderr}`)
}

/** The length of the file that the store writes first. */
export function logBytes(dataDir: string): number {
  return statSync(join(dataDir, "trivium.db-wal")).size
}

const LAUNCHER = new URL("../../bin/trivium.mjs", import.meta.url).pathname
/** In the shell's blocks of 512 bytes: a store begins within it, and outgrows it under load. */
const LIMIT_BLOCKS = 2048

/** The command of a gateway whose files may never grow beyond a size; its data folder is to follow. */
export function underLimit(): string[] {
  const limited = ["sh", "-c", `ulimit -S -f ${LIMIT_BLOCKS}; exec "$@"`, "sh"]
  return [...limited, "node", LAUNCHER, "serve", "--port", "0", "--admin-port", "0", "--data"]
}
