// The file that a running gateway writes to its data folder so that the CLI finds its ports.
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

interface GatewayAddresses {
  readonly adminUrl: string
  /** Address for callers. */
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

/** Address for callers. */
export function runningUrl(dataDir: string): string | undefined {
  return readGatewayFile(dataDir)?.url
}

function readGatewayFile(dataDir: string): GatewayAddresses | undefined {
  try {
    const { pid, ...addresses } = JSON.parse(readFileSync(gatewayFilePath(dataDir), "utf8")) as GatewayAddresses & {
      pid: number
    }
    // Throws if the process does not exist: a killed gateway leaves its file behind.
    process.kill(pid, 0)
    return addresses
  } catch {
    return undefined
  }
}

function gatewayFilePath(dataDir: string): string {
  return join(dataDir, "gateway.json")
}
