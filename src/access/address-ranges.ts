// Client addresses a key may be used from: single ones, and ranges such as 10.0.0.0/8.
import { BlockList, isIP } from "node:net"
import { excerpt, GatewayError } from "../canonical/gateway-error.ts"

export class AddressRanges {
  private readonly ranges = new BlockList()

  constructor(ranges: readonly string[]) {
    for (const [index, range] of ranges.entries()) this.add(range, `addresses[${index}]`)
  }

  holds(address: string): boolean {
    const family = isIP(address)
    return family !== 0 && this.ranges.check(address, family === 6 ? "ipv6" : "ipv4")
  }

  private add(range: string, param: string): void {
    const [, address = "", bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(range) ?? []
    const family = isIP(address)
    const width = family === 6 ? 128 : 32
    if (family === 0 || Number(bits ?? width) > width) {
      const message = `\`${param}\` must be an address or a range such as 10.0.0.0/8, not "${excerpt(range)}".`
      throw new GatewayError("invalid_parameter", message, { param })
    }
    this.ranges.addSubnet(address, Number(bits ?? width), family === 6 ? "ipv6" : "ipv4")
  }
}
