// Assembles a call's arguments from pieces, each with its path: `$.recipe.steps[0].text`.
import { isObject, type Json } from "../../../../canonical/json.ts"
import type { GeminiDraft } from "../passthrough-fields.ts"

/** More elements than that no call has; a path beyond is not followed. */
const MAX_INDEX = 10_000

type ArgumentHolder = GeminiDraft | Json[]

export class PartialArguments {
  private readonly args: GeminiDraft = {}
  /** The open string, which the next piece with the same path extends. */
  private growing: string | undefined

  take(bits: Json | undefined): void {
    if (!Array.isArray(bits)) return
    for (const bit of bits) if (isObject(bit) && typeof bit.jsonPath === "string") this.put(bit.jsonPath, bit)
  }

  json(): string {
    return JSON.stringify(this.args)
  }

  private put(path: string, bit: { readonly [member: string]: Json }): void {
    const value = valueIn(bit)
    const steps = stepsOf(path)
    if (value === undefined || !steps) return
    const last = steps.pop()
    let holder: ArgumentHolder = this.args
    for (const [index, step] of steps.entries()) {
      const inner: ArgumentHolder | undefined = inside(holder, { step, next: steps[index + 1] ?? last })
      if (!inner) return
      holder = inner
    }
    if (last === undefined) return
    const before = this.growing === path ? read(holder, last) : undefined
    write(holder, {
      step: last,
      value: typeof before === "string" && typeof value === "string" ? before + value : value,
    })
    this.growing = bit.willContinue === true ? path : undefined
  }
}

type ArgumentPathStep = string | number

function valueIn({
  stringValue,
  numberValue,
  boolValue,
  nullValue,
}: {
  readonly [member: string]: Json
}): Json | undefined {
  if (typeof stringValue === "string") return stringValue
  if (typeof numberValue === "number") return numberValue
  if (typeof boolValue === "boolean") return boolValue
  return nullValue === undefined ? undefined : null
}

/** Undefined for a path of another form. */
function stepsOf(path: string): ArgumentPathStep[] | undefined {
  if (!/^\$(?:\.[^.[\]]+|\[\d{1,5}\]|\[(?:'[^']*'|"[^"]*")\])+$/.test(path)) return undefined
  const steps = path.slice(1).matchAll(/\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/g)
  return [...steps].map(([, name, index, single, double]) =>
    index === undefined ? (name ?? single ?? double ?? "") : Number(index),
  )
}

/** The object or array at a step, which is created if missing. */
function inside(
  holder: ArgumentHolder,
  { step, next }: { step: ArgumentPathStep; next: ArgumentPathStep | undefined },
): ArgumentHolder | undefined {
  const existing = read(holder, step)
  if (typeof existing === "object" && existing !== null) return existing as ArgumentHolder
  const created: ArgumentHolder = typeof next === "number" ? [] : {}
  return write(holder, { step, value: created }) ? created : undefined
}

function read(holder: ArgumentHolder, step: ArgumentPathStep): Json | undefined {
  if (Array.isArray(holder)) return typeof step === "number" ? holder[step] : undefined
  return typeof step === "string" && Object.hasOwn(holder, step) ? holder[step] : undefined
}

/** False if the step does not fit the holder. */
function write(holder: ArgumentHolder, { step, value }: { step: ArgumentPathStep; value: Json }): boolean {
  if (Array.isArray(holder)) {
    if (typeof step !== "number" || step > MAX_INDEX) return false
    while (holder.length < step) holder.push(null)
    holder[step] = value
    return true
  }
  if (typeof step !== "string") return false
  // Plain assignment to this name would change the prototype.
  Object.defineProperty(holder, step, { value, enumerable: true, configurable: true, writable: true })
  return true
}
