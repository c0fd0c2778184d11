// One cell of the client matrix: a library, a model and a scenario, and the report of a driver.
import type { ApiFamily, ScenarioCall } from "./scenarios.ts"

/** One line that a driver prints. */
export interface ClientObservation {
  readonly library: string
  readonly version: string
  readonly api: ApiFamily
  readonly model: string
  readonly scenario: string
  /** Why the library cannot hold this conversation at all. */
  readonly skipped?: string
  /** The answer to each prompt. */
  readonly texts?: readonly string[]
  /** The pieces of the last answer, of a stream. */
  readonly pieces?: readonly string[]
  /** Absent where the library has no place for thoughts. */
  readonly reasoning?: string
  /** The calls that reached the tools, in order. */
  readonly calls?: readonly ScenarioCall[]
  readonly error?: ObservedError
}

interface ObservedError {
  readonly class: string
  /** The class that the library documents for this failure. */
  readonly expectedClass: string
  readonly status?: number
  readonly message: string
}

/** The tag by which the scripted host knows a cell's requests: drivers put it before the first prompt. */
export function cellTag({
  library,
  model,
  scenario,
}: Pick<ClientObservation, "library" | "model" | "scenario">): string {
  return `[cell ${library} | ${model} | ${scenario}]`
}

export function tagIn(text: string): string | undefined {
  return /\[cell [^\]]*\]/.exec(text)?.[0]
}
