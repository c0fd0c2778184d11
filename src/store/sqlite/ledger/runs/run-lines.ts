// Totals as lines of text: a key (names between tabs), a tab, and numbers between commas. Lines of one kind sort by
// their key, so that lists of them are merged as text.
import type { UsageKey, UseCounts } from "../../../contract.ts"

const UNSAFE_CHARACTERS = /[^ -~]|%/g
const ESCAPED = /%([0-9a-f]{4})/g

/** Escapes the separators in a name, so that SQLite sorts lines as JavaScript does. */
export function escapeName(name: string): string {
  // A regular expression without a match takes three times as long.
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at)
    if (code < 0x20 || code > 0x7e || code === 0x25) return name.replace(UNSAFE_CHARACTERS, escapeCharacter)
  }
  return name
}

const escapedNames = new Map<string, string>()
const MAX_ESCAPED_NAMES = 1000

/** Escapes a name that repeats often. */
function escapeRepeatedName(name: string): string {
  const known = escapedNames.get(name)
  if (known !== undefined) return known
  if (escapedNames.size >= MAX_ESCAPED_NAMES) escapedNames.clear()
  const text = escapeName(name)
  escapedNames.set(name, text)
  return text
}

export function unescapeName(text: string): string {
  if (!text.includes("%")) return text
  return text.replace(ESCAPED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

function escapeCharacter(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(4, "0")}`
}

/** The key without the day, which is the part of the tree. */
export function usageLineKey({ tenant, keyId, model, provider }: Omit<UsageKey, "day">): string {
  return `${escapeRepeatedName(tenant)}\t${escapeName(keyId)}\t${escapeRepeatedName(model)}\t${escapeRepeatedName(provider)}`
}

/** The first numbers of a usage line. */
export function countsText(counts: UseCounts): string {
  const { input = "", cacheRead = "", cacheWrite = "", cacheWrite1h = "", audioInput = "", imageInput = "" } = counts
  const { output = "", reasoning = "", audioOutput = "", imageOutput = "", images = "" } = counts
  const read = `${input},${cacheRead},${cacheWrite},${cacheWrite1h},${audioInput},${imageInput}`
  return `${read},${output},${reasoning},${audioOutput},${imageOutput},${images}`
}

export function lineKeyOf(line: string): string {
  return line.slice(0, line.lastIndexOf("\t"))
}

/** A text that sorts after every line of this key, and before those of the next. */
export function afterLineKey(lineKey: string): string {
  return `${lineKey}\t:`
}

/** The numbers of a line: for usage the counts, the requests and the payment; for spending only the payment. */
export function numbersOf(line: string): string[] {
  return line.slice(line.lastIndexOf("\t") + 1).split(",")
}

export function paidOf(line: string): bigint {
  return BigInt(line.slice(Math.max(line.lastIndexOf(","), line.lastIndexOf("\t")) + 1))
}

/** Sums two lines of one key. */
export function addLines(a: string, b: string): string {
  const others = numbersOf(b)
  const sums = numbersOf(a).map((number, at) => BigInt(number) + BigInt(others[at] ?? ""))
  return `${lineKeyOf(a)}\t${sums.join(",")}`
}
