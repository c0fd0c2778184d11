import { describe, expect, test } from "bun:test"
import { TrustedProxies } from "./client-address.ts"

describe("the client's address", () => {
  const proxies = new TrustedProxies(["10.0.0.0/8", "192.168.1.1", "fd00::/8"])
  const cases: readonly [string, string, string | null, string][] = [
    ["an untrusted peer's header is ignored", "203.0.113.9", "198.51.100.1", "203.0.113.9"],
    ["a trusted proxy's header is used", "10.1.2.3", "198.51.100.1", "198.51.100.1"],
    ["only the last untrusted hop counts", "10.1.2.3", "6.6.6.6, 198.51.100.1, 192.168.1.1", "198.51.100.1"],
    ["a trusted proxy without the header is the client", "10.1.2.3", null, "10.1.2.3"],
    ["if all hops are trusted, it is the first", "10.1.2.3", "10.9.9.9, 192.168.1.1", "10.9.9.9"],
    ["a malformed address ends the trusted chain", "10.1.2.3", "198.51.100.1, unknown, 10.4.4.4", "10.4.4.4"],
    ["an IPv4-mapped IPv6 address counts as IPv4", "::ffff:10.1.2.3", "198.51.100.1", "198.51.100.1"],
    ["an IPv6 address is supported", "fd00::1", "2001:db8::7", "2001:db8::7"],
  ]
  test.each(cases)("the client's address: %s", (_, peer, forwarded, client) => {
    expect(proxies.clientOf(peer, forwarded)).toBe(client)
  })

  test("no proxy is trusted unless configured", () => {
    expect(new TrustedProxies([]).clientOf("127.0.0.1", "198.51.100.1")).toBe("127.0.0.1")
  })
})
