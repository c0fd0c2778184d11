// A credential that cannot be printed by accident: every way of turning it into text says only that it is one.
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The value itself. Call it where the value is used, and nowhere else. */
  reveal(): string {
    return this.#value
  }

  toString(): string {
    return "[secret]"
  }

  toJSON(): string {
    return "[secret]"
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return "[secret]"
  }
}
