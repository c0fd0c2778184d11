// The mark a running gateway leaves in its data folder, by which the command line finds its ports.
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

interface GatewayAddresses {
  readonly adminUrl: string
  /** Where callers ask. */
  readonly url: string
}

export function writeGatewayFile(dataDir: string, { adminUrl, url }: GatewayAddresses): void {
  writeFileSync(gatewayFilePath(dataDir), `${JSON.stringify({ pid: process.pid, adminUrl, url })}\n`)
}

export function removeGatewayFile(dataDir: string): void {
  rmSync(gatewayFilePath(dataDir), { force: true })
}

/** The administration address of the gateway that runs on this data folder, if one does. */
export function runningAdminUrl(dataDir: string): string | undefined {
  return readGatewayFile(dataDir)?.adminUrl
}

/** The address that its callers ask at. */
export function runningUrl(dataDir: string): string | undefined {
  return readGatewayFile(dataDir)?.url
}

function readGatewayFile(dataDir: string): GatewayAddresses | undefined {
  try {
    const { pid, ...addresses } = JSON.parse(readFileSync(gatewayFilePath(dataDir), "utf8")) as GatewayAddresses & {
      pid: number
    }
    // Throws where no such process is: a gateway that was killed leaves its mark behind.
    process.kill(pid, 0)
    return addresses
  } catch {
    return undefined
  }
}

function gatewayFilePath(dataDir: string): string {
  return join(dataDir, "gateway.json")
}
