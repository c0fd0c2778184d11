// The format of API keys: a prefix, 32 random bytes, and a checksum that detects a mistyped key without a lookup.
import { randomBytes } from "node:crypto"
import { crc32 } from "node:zlib"

const PREFIX = "trv_"
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`)

export function mintKey(prefix = PREFIX): string {
  const secret = base62(BigInt(`0x${randomBytes(32).toString("hex")}`), SECRET_LENGTH)
  return prefix + secret + checksum(secret)
}

/** True if a text has the format of an API key. */
export function isKeyText(text: string): boolean {
  if (!SHAPE.test(text)) return false
  const secret = text.slice(PREFIX.length, -CHECKSUM_LENGTH)
  return checksum(secret) === text.slice(-CHECKSUM_LENGTH)
}

/** The last characters of a key, by which its owner recognises it. */
export function keyHint(key: string): string {
  return `${PREFIX}…${key.slice(-4)}`
}

/** Runs for every presented key, so it uses plain numbers, which are faster. */
function checksum(secret: string): string {
  let text = ""
  let rest = crc32(PREFIX + secret)
  for (; text.length < CHECKSUM_LENGTH; rest = Math.floor(rest / 62)) text = DIGITS.charAt(rest % 62) + text
  return text
}

function base62(value: bigint, length: number): string {
  let text = ""
  for (let rest = value; text.length < length; rest /= 62n) text = DIGITS[Number(rest % 62n)] + text
  return text
}
