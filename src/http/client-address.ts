// The client's IP address behind proxies: `X-Forwarded-For` is trusted as far as trusted proxies wrote it.
import { BlockList, isIP } from "node:net"

export class TrustedProxies {
  private readonly ranges = new BlockList()

  /** Addresses, or ranges of them as `10.0.0.0/8`. */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [address = "", bits] = range.split("/")
      const family = isIP(address) === 6 ? "ipv6" : "ipv4"
      if (bits === undefined) this.ranges.addAddress(address, family)
      else this.ranges.addSubnet(address, Number(bits), family)
    }
  }

  /** The nearest hop that is not a trusted proxy: anyone may have written the entries before it. */
  clientOf(peer: string, forwardedFor: string | null): string {
    let client = plainAddress(peer)
    const hops = forwardedFor?.split(",") ?? []
    for (let hop = hops.pop(); hop !== undefined && this.trusts(client); hop = hops.pop()) {
      const address = plainAddress(hop.trim())
      if (isIP(address) === 0) break
      client = address
    }
    return client
  }

  private trusts(address: string): boolean {
    return this.ranges.check(address, isIP(address) === 6 ? "ipv6" : "ipv4")
  }
}

/** An IPv4 address is one, also as IPv6 sockets and some proxies write it. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/^\[(.*)\]$/, "$1")
}
