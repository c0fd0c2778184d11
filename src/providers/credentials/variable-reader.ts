// Environment variables of a cloud's credentials, as they were when the configuration was read.
import type { Secret } from "../../config/secret.ts"

export class VariableReader<Name extends string> {
  constructor(private readonly values: Readonly<Record<string, Secret>>) {}

  get(name: Name): string | undefined {
    return this.values[name]?.reveal()
  }

  has(name: Name): boolean {
    return this.values[name] !== undefined
  }
}
