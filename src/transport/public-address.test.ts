import { expect, test } from "bun:test"
import fc from "fast-check"
import { isPublicAddress } from "./public-address.ts"

test.each(["1.1.1.1", "8.8.8.8", "93.184.216.34", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001:80b::200e"])(
  "%s is public",
  (address) => {
    expect(isPublicAddress(address)).toBe(true)
  },
)

test.each([
  ...["0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1"],
  ...["172.31.255.255", "192.168.1.1", "198.18.0.1", "203.0.113.5", "224.0.0.1", "255.255.255.255"],
  ...["::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::a00:1", "fc00::1", "fe80::1", "ff02::1"],
  ...["2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "fd00:ec2::254", "fe80::1%eth0"],
  ...["", "localhost", "example.com", "0x7f.1", "2130706433", "1.1.1.1.", "[::1]"],
])("%s is not public", (address) => {
  expect(isPublicAddress(address)).toBe(false)
})

test("no spelling of an internal address makes it public", () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(isPublicAddress(`::ffff:${address}`)).toBe(false)
    }),
  )
})
