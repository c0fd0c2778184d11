// Whether an address is one of the public internet: global unicast, and nothing that leads back inside.
import { BlockList, isIP } from "node:net"

/** Of IPv4 what is not public; of IPv6 what of the global range is not. Each as IANA registers it. */
const INSIDE: readonly (readonly [net: string, prefix: number, family: "ipv4" | "ipv6"])[] = [
  ["0.0.0.0", 8, "ipv4"],
  ["10.0.0.0", 8, "ipv4"],
  ["100.64.0.0", 10, "ipv4"],
  ["127.0.0.0", 8, "ipv4"],
  ["169.254.0.0", 16, "ipv4"],
  ["172.16.0.0", 12, "ipv4"],
  ["192.0.0.0", 24, "ipv4"],
  ["192.0.2.0", 24, "ipv4"],
  ["192.31.196.0", 24, "ipv4"],
  ["192.52.193.0", 24, "ipv4"],
  ["192.88.99.0", 24, "ipv4"],
  ["192.168.0.0", 16, "ipv4"],
  ["192.175.48.0", 24, "ipv4"],
  ["198.18.0.0", 15, "ipv4"],
  ["198.51.100.0", 24, "ipv4"],
  ["203.0.113.0", 24, "ipv4"],
  ["224.0.0.0", 4, "ipv4"],
  ["240.0.0.0", 4, "ipv4"],
  // Teredo, benchmarking, ORCHID and the like: addresses that hold or mean others.
  ["2001::", 23, "ipv6"],
  ["2001:db8::", 32, "ipv6"],
  ["2002::", 16, "ipv6"],
  ["2620:4f:8000::", 48, "ipv6"],
  ["3fff::", 20, "ipv6"],
]

const inside = new BlockList()
for (const [net, prefix, family] of INSIDE) inside.addSubnet(net, prefix, family)
/** All that is global unicast of IPv6; addresses that stand for IPv4 ones are not in it. */
const global6 = new BlockList()
global6.addSubnet("2000::", 3, "ipv6")

export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !inside.check(address, "ipv4")
  return family === 6 && global6.check(address, "ipv6") && !inside.check(address, "ipv6")
}
