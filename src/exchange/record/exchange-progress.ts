// One exchange while it runs: each stage adds its result once, and the record is made from them at the end.
import type { ResponseHeaderName } from "../../canonical/response-headers.ts"
import type { Usage } from "../../canonical/usage.ts"
import type { ProtocolId } from "../../protocols/contract.ts"
import { AttemptLog } from "../attempt/attempt-log.ts"

/** The facts that are known when a request arrives. */
export interface RequestArrival {
  readonly requestId: string
  /** Such as `POST /v1/chat/completions`. */
  readonly route: string
  readonly protocol?: { readonly id: ProtocolId; readonly idHeader?: ResponseHeaderName } | undefined
  /** The route's operation, in the protocol's words. */
  readonly does?: string | undefined
  /** The caller's header, if traces are on. */
  readonly traceparent?: string | undefined
}

/** A model name in the request, and the model that the key's model map has in its place. */
export interface MappedModel {
  readonly from: string
  readonly to: string
}

/** The models that a request may use. */
export interface AdmittedRequest {
  /** The requested model's id; another may serve the request. */
  readonly model: string
  readonly stream: boolean
  readonly mapped: readonly MappedModel[] | undefined
}

/** The booked usage and cost. */
export interface SettledCharge {
  readonly usage: Usage
  readonly costNano: bigint
}

export class ExchangeProgress {
  readonly requestId: string
  readonly startedAt = performance.now()
  caller: { readonly id: string; readonly tenant: string } | undefined
  admitted: AdmittedRequest | undefined
  readonly attempts = new AttemptLog()
  /** Absent if nothing is charged; its result is there once the cost is known. */
  charge: { readonly settled: SettledCharge | undefined } | undefined
  /** When the request was read, and when its cost was held. */
  readAt: number | undefined
  heldAt: number | undefined

  constructor(readonly arrival: RequestArrival) {
    this.requestId = arrival.requestId
  }

  get model(): string | undefined {
    return this.attempts.serving?.target.model.id ?? this.admitted?.model
  }

  get usage(): Usage | undefined {
    return this.charge?.settled?.usage ?? this.attempts.serving?.usage
  }
}
