// What every endpoint of the simulator is given, what it answers, and how it says no.
import type { JsonObject } from "../canonical/json.ts"
import { number, type OptionalJson } from "./endpoints/json-members.ts"
import type { VendorErrorFormat } from "./error-format.ts"
import type { EventFraming } from "./playback/event-framing.ts"
import type { PromptCache } from "./prompt-cache.ts"

export interface SimulatedCall {
  /** What tells it from a call that asks the same; empty where those are to be answered alike to the last byte. */
  readonly id: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: JsonObject
  readonly cache: PromptCache
}

export interface SimulatedEndpoint {
  errorFormat(query: URLSearchParams): VendorErrorFormat
  answer(call: SimulatedCall): SimulatedReply
}

export type SimulatedReply = WholeReply | StreamedReply

export interface WholeReply {
  readonly whole: JsonObject
  /** Absent for what no vendor charges for. */
  readonly charge?: ExpectedCharge
}

export interface StreamedReply {
  readonly events: Iterable<SimulatedEvent>
  readonly framing: EventFraming
  readonly charge: ExpectedCharge
}

export interface SimulatedEvent {
  readonly event: JsonObject
  /** How much of the output is said by this event. */
  readonly tokens: number
  /** Its usage is that of the whole answer. */
  readonly isFinal?: true
}

/** What a call costs when it is answered to its end. */
export interface ExpectedCharge {
  /** The answer's own id, where it has one. */
  readonly id?: string
  readonly model: string
  readonly inputTokens: number
  readonly outputTokens: number
}

/** What the vendor would answer 400 to, unless it has a status of its own. */
export class SimulatedRefusal extends Error {
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
  value: OptionalJson,
  { param, from, to, otherwise }: { param: string; from: number; to: number; otherwise: number },
): number {
  if (value === undefined || value === null) return otherwise
  const given = number(value)
  if (given !== undefined && Number.isInteger(given) && given >= from && given <= to) return given
  throw new SimulatedRefusal(`Invalid '${param}': expected an integer from ${from} to ${to}.`, {
    param,
    code: "invalid_value",
  })
}
