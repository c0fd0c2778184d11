// Sums as lines of text: a place (names between tabs), a tab, and numbers between commas. Lines of one kind sort by their
// place, so that lists of them are merged as text.
import type { UsageKey, UseCounts } from "../contract.ts"

const EVERY_ODD = /[^ -~]|%/g
const ESCAPED = /%([0-9a-f]{4})/g

/** A name in characters that end no field, and that SQLite sorts as we do. */
export function plain(name: string): string {
  // A regular expression takes three times as long to find nothing.
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at)
    if (code < 0x20 || code > 0x7e || code === 0x25) return name.replace(EVERY_ODD, escaped)
  }
  return name
}

const oftenSaid = new Map<string, string>()
const MOST_OFTEN_SAID = 1000

/** Of a name that comes again and again. */
function plainOften(name: string): string {
  const known = oftenSaid.get(name)
  if (known !== undefined) return known
  if (oftenSaid.size >= MOST_OFTEN_SAID) oftenSaid.clear()
  const text = plain(name)
  oftenSaid.set(name, text)
  return text
}

export function named(text: string): string {
  if (!text.includes("%")) return text
  return text.replace(ESCAPED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

function escaped(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(4, "0")}`
}

/** Without the day, which is the part of the tree. */
export function usagePlace({ tenant, keyId, model, provider }: Omit<UsageKey, "day">): string {
  return `${plainOften(tenant)}\t${plain(keyId)}\t${plainOften(model)}\t${plainOften(provider)}`
}

/** The first numbers of a line of usage. */
export function countsText(counts: UseCounts): string {
  const { input = "", cacheRead = "", cacheWrite = "", cacheWrite1h = "", audioInput = "", imageInput = "" } = counts
  const { output = "", reasoning = "", audioOutput = "", imageOutput = "", images = "" } = counts
  const read = `${input},${cacheRead},${cacheWrite},${cacheWrite1h},${audioInput},${imageInput}`
  return `${read},${output},${reasoning},${audioOutput},${imageOutput},${images}`
}

export function placeOf(line: string): string {
  return line.slice(0, line.lastIndexOf("\t"))
}

/** Behind every line of this place, and before those of the next. */
export function behind(place: string): string {
  return `${place}\t:`
}

/** Of usage: what is counted, how many requests, and what was paid; of spending only that. */
export function numbersOf(line: string): string[] {
  return line.slice(line.lastIndexOf("\t") + 1).split(",")
}

export function paidOf(line: string): bigint {
  return BigInt(line.slice(Math.max(line.lastIndexOf(","), line.lastIndexOf("\t")) + 1))
}

/** Two lines of one place as one. */
export function addLines(a: string, b: string): string {
  const others = numbersOf(b)
  const sums = numbersOf(a).map((number, at) => BigInt(number) + BigInt(others[at] ?? ""))
  return `${placeOf(a)}\t${sums.join(",")}`
}
