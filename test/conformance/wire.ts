// Reads a received body without trusting its shape.

export type WireMembers = Readonly<Record<string, unknown>>

/** The members of an object; of anything else, none. */
export function members(value: unknown): WireMembers {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as WireMembers) : {}
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : ""
}

export function textOrNone(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined
}

export function numberOrNone(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined
}

/** The value of a JSON text; the text itself where it is none. */
export function parsed(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

/** The content of a data URL. */
export function dataIn(address: string): { mediaType: string; base64: string } {
  const [, mediaType = "", base64 = ""] = /^data:([^;,]*);base64,(.*)$/.exec(address) ?? []
  return { mediaType, base64: base64 === "" ? address : base64 }
}

/** An object without the members that are undefined. */
export function given<Value extends object>(value: Value): { [Name in keyof Value]: Exclude<Value[Name], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as never
}
