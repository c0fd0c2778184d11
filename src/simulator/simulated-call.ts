// The interface of the simulator's endpoints: calls, replies and refusals.
import type { JsonObject } from "../canonical/json.ts"
import { number, type OptionalJson } from "./endpoints/json-members.ts"
import type { VendorErrorFormat } from "./error-format.ts"
import type { EventFraming } from "./playback/event-framing.ts"
import type { PromptCache } from "./prompt-cache.ts"

export interface SimulatedCall {
  /** Distinguishes this call from equal ones; empty if equal calls get byte-identical answers. */
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
  /** Absent for endpoints that vendors do not charge for. */
  readonly charge?: ExpectedCharge
}

export interface StreamedReply {
  readonly events: Iterable<SimulatedEvent>
  readonly framing: EventFraming
  readonly charge: ExpectedCharge
}

export interface SimulatedEvent {
  readonly event: JsonObject
  /** Output tokens that this event carries. */
  readonly tokens: number
  /** The event holds the usage of the whole answer. */
  readonly isFinal?: true
}

/** The cost of a call that is answered completely. */
export interface ExpectedCharge {
  /** The answer's own id, if it has one. */
  readonly id?: string
  readonly model: string
  readonly inputTokens: number
  readonly outputTokens: number
}

/** A request error: status 400 unless `detail` sets another. */
export class SimulatedRefusal extends Error {
  override readonly name = "Refusal"
  constructor(
    message: string,
    readonly detail: { readonly param?: string; readonly code?: string | null; readonly status?: number } = {},
  ) {
    super(message)
  }
}

/** A whole number within bounds, or `otherwise` if absent. */
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
