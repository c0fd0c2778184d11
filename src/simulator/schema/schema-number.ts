// A number within a JSON schema's bounds: a small one if there is a choice.
import type { JsonObject } from "../../canonical/json.ts"
import { list, number } from "../endpoints/json-members.ts"

/** Different variants give different numbers, as far as the bounds allow. */
export function numberOf(flat: JsonObject, variant: number): number {
  const low = readBound(flat, { inclusive: "minimum", exclusive: "exclusiveMinimum" })
  const high = readBound(flat, { inclusive: "maximum", exclusive: "exclusiveMaximum" })
  const step = stepOf(flat)
  return step === undefined ? numberBetween(low, high, variant) : steppedNumber({ low, high, step, variant })
}

interface NumberBound {
  readonly at: number
  /** The bound itself is not allowed. */
  readonly isOpen: boolean
}

/** In older drafts, `exclusiveMinimum: true` excludes `minimum` itself. */
function readBound(flat: JsonObject, { inclusive, exclusive }: { inclusive: string; exclusive: string }) {
  const closed = number(flat[inclusive])
  const open = number(flat[exclusive])
  const sign = inclusive === "minimum" ? 1 : -1
  if (closed !== undefined && (open === undefined || closed * sign > open * sign)) {
    return { at: closed, isOpen: flat[exclusive] === true }
  }
  return open === undefined ? undefined : { at: open, isOpen: true }
}

function stepOf(flat: JsonObject): number | undefined {
  const multiple = number(flat.multipleOf)
  const isWhole = flat.type === "integer" || list(flat.type).includes("integer")
  if (multiple === undefined || multiple <= 0) return isWhole ? 1 : undefined
  if (!isWhole) return multiple
  for (let times = 1; times <= 1000; times++) if (Number.isInteger(multiple * times)) return multiple * times
  return multiple
}

interface NumberSteps {
  readonly low: NumberBound | undefined
  readonly high: NumberBound | undefined
  readonly step: number
  readonly variant: number
}

function steppedNumber({ low, high, step, variant }: NumberSteps): number {
  const least = low && steps(Math.ceil, low, step)
  const most = high && steps(Math.floor, high, step)
  // One step, if it is allowed.
  const first = Math.max(least ?? 1, Math.min(1, most ?? 1))
  const count = most === undefined || first + variant <= most ? first + variant : (least ?? first - variant)
  return Number((count * step).toPrecision(15))
}

/** The number of steps up to the bound; a quotient such as 0.3 / 0.1 is not quite whole. */
function steps(round: (quotient: number) => number, { at, isOpen }: NumberBound, step: number): number {
  const quotient = Number((at / step).toPrecision(12))
  const whole = round(quotient)
  if (!isOpen || whole !== quotient) return whole
  return round === Math.ceil ? whole + 1 : whole - 1
}

function numberBetween(low: NumberBound | undefined, high: NumberBound | undefined, variant: number): number {
  if (low && high) {
    if (low.at === high.at) return low.at
    const inside = low.at + ((high.at - low.at) * (variant + 1)) / (variant + 2)
    return Number.isInteger(inside) || variant > 0 ? inside : wholeWithin(low, high, inside)
  }
  if (low) return Math.max(1, low.at + Math.max(1, Math.abs(low.at) / 1e6)) + variant
  if (high) return Math.min(1, high.at - Math.max(1, Math.abs(high.at) / 1e6)) - variant
  return 1 + variant
}

function wholeWithin(low: NumberBound, high: NumberBound, inside: number): number {
  const whole = Math.round(inside)
  return whole > low.at && whole < high.at ? whole : inside
}
