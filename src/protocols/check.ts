// Checks for the protocols' validators. A check knows what a value must be; the member it is put on says where it
// stands, and only when it fails, so that a sound request costs no paths. A null member counts as absent.
import { GatewayError } from "../canonical/error.ts"
import type { ErrorCode } from "../canonical/error-codes.ts"
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"

export type Check<T> = (value: Json) => T

/** A value that is not what it must be, on its way up to where its whole path is known. */
export class Misfit extends Error {
  override readonly name = "Misfit"
  path = ""

  constructor(
    readonly code: ErrorCode,
    readonly sentence: (path: string) => string,
  ) {
    super("misfit")
  }

  under(step: string): this {
    this.path = this.path === "" || this.path.startsWith("[") ? step + this.path : `${step}.${this.path}`
    return this
  }
}

export function checkAt<T>(step: string, check: Check<T>, value: Json): T {
  try {
    return check(value)
  } catch (thrown) {
    throw thrown instanceof Misfit ? thrown.under(step) : thrown
  }
}

/** Runs a whole validator; what misfits becomes an error that names the member. */
export function checked<T>(validate: () => T): T {
  try {
    return validate()
  } catch (thrown) {
    if (!(thrown instanceof Misfit)) throw thrown
    throw new GatewayError(thrown.code, thrown.sentence(thrown.path), { param: thrown.path })
  }
}

/** A value that is refused whatever it is. The sentence is made when the whole path is known. */
export function refusal(code: ErrorCode, sentence: (path: string) => string): Misfit {
  return new Misfit(code, sentence)
}

export function misfit(expected: string): Misfit {
  return new Misfit("invalid_parameter", (path) => `\`${path}\` must be ${expected}.`)
}

function missing(): Misfit {
  return new Misfit("missing_parameter", (path) => `\`${path}\` is required.`)
}

/** The member of this name, which may be absent. */
export function optional<T>(name: string, check: Check<T>): (value: Json | undefined) => T | undefined {
  return (value) => (value === undefined || value === null ? undefined : checkAt(name, check, value))
}

/** The member of this name, which must be there. */
export function required<T>(name: string, check: Check<T>): (value: Json | undefined) => T {
  return (value) => {
    if (value === undefined || value === null) throw missing().under(name)
    return checkAt(name, check, value)
  }
}

export function string(value: Json): string {
  if (typeof value !== "string") throw misfit("a string")
  return value
}

export function nonEmptyString(value: Json): string {
  if (typeof value !== "string" || value === "") throw misfit("a string that is not empty")
  return value
}

export function boolean(value: Json): boolean {
  if (typeof value !== "boolean") throw misfit("true or false")
  return value
}

export function object(value: Json): JsonObject {
  if (!isObject(value)) throw misfit("an object")
  return value
}

export function number({ min, max }: { min: number; max: number }): Check<number> {
  return (value) => {
    if (typeof value !== "number" || value < min || value > max) throw misfit(`a number from ${min} to ${max}`)
    return value
  }
}

export function integer({ min }: { min: number }): Check<number> {
  return (value) => {
    if (typeof value === "number" && Number.isInteger(value) && value >= min) return value
    throw misfit(`a whole number of at least ${min}`)
  }
}

export function oneOf<const T extends string>(words: readonly T[]): Check<T> {
  return (value) => {
    for (const word of words) if (word === value) return word
    throw misfit(`one of ${words.map((word) => `\`${word}\``).join(", ")}`)
  }
}

export function arrayOf<T>(check: Check<T>): Check<T[]> {
  return (value) => {
    if (!Array.isArray(value)) throw misfit("an array")
    const items: T[] = []
    for (let index = 0; index < value.length; index++) {
      try {
        items.push(check(value[index]))
      } catch (thrown) {
        throw thrown instanceof Misfit ? thrown.under(`[${index}]`) : thrown
      }
    }
    return items
  }
}
