// The TCP connections of this machine as the kernel lists them: their ports and the bytes in their queues.
import { readFileSync } from "node:fs"

export interface KernelSocket {
  readonly localPort: number
  readonly remotePort: number
  /** Neither closed nor closing. */
  readonly isOpen: boolean
  /** Still being connected. */
  readonly isConnecting: boolean
  /** Written by its process and not yet taken by the other side. */
  readonly sendQueue: number
  /** Come in and not yet read by its process. */
  readonly receiveQueue: number
}

const ESTABLISHED = "01"
const SYN_SENT = "02"

export function kernelSockets(): KernelSocket[] {
  return ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => {
    const [, ...lines] = readFileSync(file, "utf8").trimEnd().split("\n")
    return lines.map(parse)
  })
}

function parse(line: string): KernelSocket {
  const [, local = "", remote = "", state = "", queues = ""] = line.trim().split(/\s+/)
  const [send = "", receive = ""] = queues.split(":")
  return {
    localPort: portOf(local),
    remotePort: portOf(remote),
    isOpen: state === ESTABLISHED,
    isConnecting: state === SYN_SENT,
    sendQueue: Number.parseInt(send, 16),
    receiveQueue: Number.parseInt(receive, 16),
  }
}

function portOf(address: string): number {
  return Number.parseInt(address.slice(address.lastIndexOf(":") + 1), 16)
}
