// A vendor's error format, and the members that its responses are identified by.
import type { Json } from "../canonical/json.ts"

export interface SimulatedFailure {
  readonly status: number
  readonly message: string
  readonly requestId: string
  /** The invalid member of the request, if there is one. */
  readonly param?: string | undefined
  readonly code?: string | null | undefined
  /** The wait before a retry, for vendors that report it in the body. */
  readonly retrySeconds?: number | undefined
}

export interface VendorErrorFormat {
  readonly contentType: string
  readonly requestIdHeader: string
  readonly usageMember: "usage" | "usageMetadata"
  errorBody(failure: SimulatedFailure): Json
  /** The error frame of a stream after `eventCount` events. */
  errorFrame(failure: SimulatedFailure, eventCount: number): string
}
