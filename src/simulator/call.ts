// What every endpoint of the simulator is given, what it answers, and how it says no.
import type { JsonObject } from "../canonical/json.ts"
import type { Framing } from "./framing.ts"
import { type Given, number } from "./json-members.ts"
import type { PromptCache } from "./prompt-cache.ts"
import type { Voice } from "./voice.ts"

export interface SimulatedCall {
  /** What tells it from a call that asks the same; empty where those are to be answered alike to the last byte. */
  readonly id: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: JsonObject
  readonly cache: PromptCache
}

export interface SimulatedEndpoint {
  voice(query: URLSearchParams): Voice
  answer(call: SimulatedCall): SimulatedReply
}

export type SimulatedReply = WholeReply | StreamedReply

export interface WholeReply {
  readonly whole: JsonObject
  /** Absent for what no vendor charges for. */
  readonly charge?: Charge
}

export interface StreamedReply {
  readonly events: Iterable<SimulatedEvent>
  readonly framing: Framing
  readonly charge: Charge
}

export interface SimulatedEvent {
  readonly event: JsonObject
  /** How much of the output is said by this event. */
  readonly tokens: number
  /** Its usage is that of the whole answer. */
  readonly isFinal?: true
}

/** What a call costs when it is answered to its end. */
export interface Charge {
  /** The answer's own id, where it has one. */
  readonly id?: string
  readonly model: string
  readonly inputTokens: number
  readonly outputTokens: number
}

/** What the vendor would answer 400 to, unless it has a status of its own. */
export class Refusal extends Error {
  override readonly name = "Refusal"
  constructor(
    message: string,
    readonly detail: { readonly param?: string; readonly code?: string | null; readonly status?: number } = {},
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
