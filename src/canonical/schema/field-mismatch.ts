// An invalid value of a request. The check that finds it knows what the value must be; each enclosing member adds its
// step to the path, and only when a check fails, so that a valid request costs no paths.
import type { ErrorCode } from "../error-codes.ts"
import { GatewayError } from "../gateway-error.ts"
import type { Json } from "../json.ts"

export type FieldCheck<T> = (value: Json) => T

/** An invalid value, thrown up to where its whole path is known. */
export class FieldMismatch extends Error {
  override readonly name = "Misfit"
  path = ""
  private isItem = false

  constructor(
    readonly code: ErrorCode,
    readonly sentence: (path: string) => string,
  ) {
    super("misfit")
  }

  under(member: string): this {
    this.path = this.path === "" || this.isItem ? member + this.path : `${member}.${this.path}`
    this.isItem = false
    return this
  }

  underItem(index: number): this {
    this.under(`[${index}]`)
    this.isItem = true
    return this
  }
}

export function checkAt<T>(step: string, check: FieldCheck<T>, value: Json): T {
  try {
    return check(value)
  } catch (thrown) {
    throw thrown instanceof FieldMismatch ? thrown.under(step) : thrown
  }
}

export function checkItems<T>(items: readonly Json[], check: FieldCheck<T>): T[] {
  const checked: T[] = []
  for (let index = 0; index < items.length; index++) {
    try {
      checked.push(check(items[index] as Json))
    } catch (thrown) {
      throw thrown instanceof FieldMismatch ? thrown.underItem(index) : thrown
    }
  }
  return checked
}

/** Runs a whole validator; a mismatch becomes an error that names the member. */
export function runFieldChecks<T>(validate: () => T): T {
  try {
    return validate()
  } catch (thrown) {
    if (!(thrown instanceof FieldMismatch)) throw thrown
    throw new GatewayError(thrown.code, thrown.sentence(thrown.path), { param: thrown.path })
  }
}

/** Refuses any value. The message is built when the whole path is known. */
export function refuseField(code: ErrorCode, sentence: (path: string) => string): FieldMismatch {
  return new FieldMismatch(code, sentence)
}

/** An invalid value; without a path it is the body itself. */
export function fieldMismatch(expected: string): FieldMismatch {
  const subject = (path: string) => (path === "" ? "The body" : `\`${path}\``)
  return new FieldMismatch("invalid_parameter", (path) => `${subject(path)} must be ${expected}.`)
}

export function missingField(): FieldMismatch {
  return new FieldMismatch("missing_parameter", (path) => `\`${path}\` is required.`)
}
