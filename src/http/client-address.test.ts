import { describe, expect, test } from "bun:test"
import { TrustedProxies } from "./client-address.ts"

describe("the client's address", () => {
  const proxies = new TrustedProxies(["10.0.0.0/8", "192.168.1.1", "fd00::/8"])
  const cases: readonly [string, string, string | null, string][] = [
    ["a stranger's claim is not believed", "203.0.113.9", "198.51.100.1", "203.0.113.9"],
    ["a trusted proxy's is", "10.1.2.3", "198.51.100.1", "198.51.100.1"],
    ["only the last hop that is not ours counts", "10.1.2.3", "6.6.6.6, 198.51.100.1, 192.168.1.1", "198.51.100.1"],
    ["a trusted proxy that says nothing is the client", "10.1.2.3", null, "10.1.2.3"],
    ["where all are trusted it is the first", "10.1.2.3", "10.9.9.9, 192.168.1.1", "10.9.9.9"],
    ["what is no address ends the belief", "10.1.2.3", "198.51.100.1, unknown, 10.4.4.4", "10.4.4.4"],
    ["IPv4 in IPv6 clothes is IPv4", "::ffff:10.1.2.3", "198.51.100.1", "198.51.100.1"],
    ["IPv6 works", "fd00::1", "2001:db8::7", "2001:db8::7"],
  ]
  test.each(cases)("%s", (_, peer, forwarded, client) => {
    expect(proxies.clientOf(peer, forwarded)).toBe(client)
  })

  test("no proxy is trusted unless configured", () => {
    expect(new TrustedProxies([]).clientOf("127.0.0.1", "198.51.100.1")).toBe("127.0.0.1")
  })
})
