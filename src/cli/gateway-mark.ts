// The mark a running gateway leaves in its data folder, by which the command line finds its administration port.
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

interface Mark {
  readonly pid: number
  readonly adminUrl: string
}

export function leaveMark(dataDir: string, { adminUrl }: { adminUrl: string }): void {
  writeFileSync(fileIn(dataDir), `${JSON.stringify({ pid: process.pid, adminUrl })}\n`)
}

export function removeMark(dataDir: string): void {
  rmSync(fileIn(dataDir), { force: true })
}

/** The administration address of the gateway that runs on this data folder, if one does. */
export function runningAdminUrl(dataDir: string): string | undefined {
  try {
    const { pid, adminUrl } = JSON.parse(readFileSync(fileIn(dataDir), "utf8")) as Mark
    // Throws where no such process is: a gateway that was killed leaves its mark behind.
    process.kill(pid, 0)
    return adminUrl
  } catch {
    return undefined
  }
}

function fileIn(dataDir: string): string {
  return join(dataDir, "gateway.json")
}
