// How a vendor says that something failed, and where it writes what its answers are told by.
import type { Json } from "../canonical/json.ts"

export interface SimulatedFailure {
  readonly status: number
  readonly message: string
  readonly requestId: string
  /** The member of the request at fault, where it is one. */
  readonly param?: string | undefined
  readonly code?: string | null | undefined
  /** For a vendor that says in the body when to come back. */
  readonly retrySeconds?: number | undefined
}

export interface VendorErrorFormat {
  readonly contentType: string
  readonly requestIdHeader: string
  readonly usageMember: "usage" | "usageMetadata"
  errorBody(failure: SimulatedFailure): Json
  /** The error inside a stream of which so many events have been sent. */
  errorFrame(failure: SimulatedFailure, eventCount: number): string
}
