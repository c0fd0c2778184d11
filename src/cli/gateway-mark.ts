// The mark a running gateway leaves in its data folder, by which the command line finds its ports.
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

interface Addresses {
  readonly adminUrl: string
  /** Where callers ask. */
  readonly url: string
}

export function leaveMark(dataDir: string, { adminUrl, url }: Addresses): void {
  writeFileSync(fileIn(dataDir), `${JSON.stringify({ pid: process.pid, adminUrl, url })}\n`)
}

export function removeMark(dataDir: string): void {
  rmSync(fileIn(dataDir), { force: true })
}

/** The administration address of the gateway that runs on this data folder, if one does. */
export function runningAdminUrl(dataDir: string): string | undefined {
  return markIn(dataDir)?.adminUrl
}

/** The address that its callers ask at. */
export function runningUrl(dataDir: string): string | undefined {
  return markIn(dataDir)?.url
}

function markIn(dataDir: string): Addresses | undefined {
  try {
    const { pid, ...addresses } = JSON.parse(readFileSync(fileIn(dataDir), "utf8")) as Addresses & { pid: number }
    // Throws where no such process is: a gateway that was killed leaves its mark behind.
    process.kill(pid, 0)
    return addresses
  } catch {
    return undefined
  }
}

function fileIn(dataDir: string): string {
  return join(dataDir, "gateway.json")
}
