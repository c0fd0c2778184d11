// Faulty usage: missing, absurd, repeated or late.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { UsageFault } from "../directives.ts"
import type { VendorErrorFormat } from "../error-format.ts"
import type { SimulatedEvent } from "../simulated-call.ts"

interface UsageFaultContext {
  readonly fault: UsageFault
  readonly errorFormat: VendorErrorFormat
}

const COUNTS: Partial<Record<UsageFault, (count: number) => Json>> = {
  zero: () => 0,
  negative: (count) => -count - 1,
  huge: () => 1e12,
  text: () => "NaN",
}

/** The events sent in place of the original. */
export function withFaultyUsage(original: SimulatedEvent, faulty: UsageFaultContext): SimulatedEvent[] {
  if (faulty.fault === "twice") return original.isFinal ? [original, { ...original, tokens: 0 }] : [original]
  const event = editUsage(original.event, faulty)
  return isUsageOnly(event, original) ? [] : [{ ...original, event }]
}

/** The text of a whole answer, with every count changed or the usage member repeated. */
export function wholeText(
  whole: JsonObject,
  { fault, errorFormat }: { fault: UsageFault | undefined; errorFormat: VendorErrorFormat },
): string {
  if (fault === undefined || fault === "after-end") return JSON.stringify(whole)
  if (fault !== "twice") return JSON.stringify(editUsage(whole, { fault, errorFormat }))
  const { usageMember } = errorFormat
  const again = usageMember in whole ? `,"${usageMember}":${JSON.stringify(whole[usageMember])}` : ""
  return `${JSON.stringify(whole).slice(0, -1)}${again}}`
}

/** Usage is in the event itself, or in its message or response. */
function editUsage(event: JsonObject, faulty: UsageFaultContext): JsonObject {
  const { usageMember } = faulty.errorFormat
  const changed: Record<string, Json> = { ...event }
  for (const inner of ["message", "response"]) {
    const holder = event[inner]
    if (isObject(holder) && isObject(holder[usageMember])) changed[inner] = editUsage(holder, faulty)
  }
  const usage = event[usageMember]
  if (!isObject(usage)) return changed
  const count = COUNTS[faulty.fault]
  if (count) changed[usageMember] = editCounts(usage, count)
  else delete changed[usageMember]
  return changed
}

function editCounts(value: Json, count: (count: number) => Json): Json {
  if (typeof value === "number") return count(value)
  if (Array.isArray(value)) return value.map((item: Json) => editCounts(item, count))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, editCounts(member ?? null, count)]))
}

/** OpenAI's last chunk holds only the usage. */
function isUsageOnly(event: JsonObject, { isFinal }: SimulatedEvent): boolean {
  return isFinal === true && Array.isArray(event.choices) && event.choices.length === 0 && !("usage" in event)
}
