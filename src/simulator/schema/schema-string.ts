// A string that fits a JSON schema's format, pattern and length; otherwise plain words that are harmless in a shell.
import type { JsonObject } from "../../canonical/json.ts"
import { number, text } from "../endpoints/json-members.ts"
import { samplePattern } from "./schema-pattern.ts"

const MAX_LENGTH = 10_000

const FORMATS: Readonly<Record<string, (variant: number) => string>> = {
  date: (variant) => `2026-01-${twoDigits(1 + (variant % 28))}`,
  "date-time": (variant) => `2026-01-${twoDigits(1 + (variant % 28))}T12:00:00Z`,
  time: (variant) => `12:${twoDigits(variant % 60)}:00Z`,
  duration: (variant) => `P${variant + 1}D`,
  email: (variant) => `simulated${ordinal(variant)}@example.com`,
  "idn-email": (variant) => `simulated${ordinal(variant)}@example.com`,
  hostname: (variant) => `simulated${ordinal(variant)}.example.com`,
  ipv4: (variant) => `192.0.2.${variant % 256}`,
  ipv6: (variant) => `2001:db8::${(variant + 1).toString(16)}`,
  uri: (variant) => `https://example.com/simulated${ordinal(variant)}`,
  url: (variant) => `https://example.com/simulated${ordinal(variant)}`,
  "uri-reference": (variant) => `/simulated${ordinal(variant)}`,
  uuid: (variant) => `00000000-0000-4000-8000-${(variant + 1).toString(16).padStart(12, "0")}`,
  byte: (variant) => btoa(`simulated${ordinal(variant)}`),
}

export function stringOf(flat: JsonObject, { name, variant }: { name: string; variant: number }): string {
  const format = text(flat.format)
  const make = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined
  if (make) return make(variant)
  const least = Math.min(number(flat.minLength) ?? 0, MAX_LENGTH)
  const most = number(flat.maxLength) ?? MAX_LENGTH
  if (typeof flat.pattern === "string") {
    const sample = samplePattern(flat.pattern, { minLength: least, variant })
    if (sample !== undefined) return sample
  }
  // The number comes first so that a length limit does not cut it off.
  const words = `${variant > 0 ? `${variant + 1} ` : ""}simulated ${name}`
  const characters = [...words]
  while (characters.length < least) characters.push("x")
  return characters.slice(0, most).join("")
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0")
}

function ordinal(variant: number): string {
  return variant > 0 ? String(variant + 1) : ""
}
