// A credential that cannot be printed by accident: every conversion to text yields a placeholder.
export class Secret {
  readonly #value: string
  readonly #origin: string | undefined

  constructor(value: string, origin?: string) {
    this.#value = value
    this.#origin = origin
  }

  /** The origin, such as `file /run/secrets/key`; undefined if it is written in the configuration. */
  get origin(): string | undefined {
    return this.#origin
  }

  /** The value itself. Call this only where the value is used. */
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
