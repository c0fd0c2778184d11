// What every endpoint of the simulator is given, and how it says no.
import type { JsonObject } from "../canonical/json.ts"
import { type Given, number } from "./json-members.ts"
import type { PromptCache } from "./prompt-cache.ts"

export interface SimulatedCall {
  readonly path: string
  readonly query: URLSearchParams
  readonly body: JsonObject
  readonly cache: PromptCache
  readonly signal: AbortSignal
}

export interface SimulatedEndpoint {
  answer(call: SimulatedCall): Response
  /** In the vendor's own error shape. */
  refuse(refusal: Refusal): Response
}

/** What the vendor would answer 400 to. */
export class Refusal extends Error {
  override readonly name = "Refusal"
  constructor(
    message: string,
    readonly detail: { readonly param?: string; readonly code?: string } = {},
  ) {
    super(message)
  }
}

/** A whole number within bounds, or `otherwise` where none is given. */
export function wholeNumber(
  value: Given,
  { param, from, to, otherwise }: { param: string; from: number; to: number; otherwise: number },
): number {
  if (value === undefined || value === null) return otherwise
  const given = number(value)
  if (given !== undefined && Number.isInteger(given) && given >= from && given <= to) return given
  throw new Refusal(`Invalid '${param}': expected an integer from ${from} to ${to}.`, { param, code: "invalid_value" })
}
