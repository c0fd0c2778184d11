// All that the plan of one request depends on.
import type { RoutingOptions } from "../canonical/chat/chat-request.ts"
import type { SessionHome } from "./affinity.ts"
import type { HealthSnapshot } from "./health-monitor.ts"
import type { RoutingTable, Target } from "./target.ts"

export interface PlanInput {
  /** What the client speaks. */
  readonly protocol: string
  readonly table: RoutingTable
  /** Counts requests, so that what is equal comes first in turn. */
  readonly rotation: number
  /** Whether the request can be translated to another protocol. */
  readonly translates: boolean
  readonly routingOptions?: RoutingOptions | undefined
  readonly facts?: RequestFacts | undefined
  /** Left out, everything is taken to work. */
  readonly health?: HealthSnapshot | undefined
  /** Where the session of this request is at home. */
  readonly home?: SessionHome | undefined
  /** Even, from 0 to below 1: whether this request explores. Left out, it does not. */
  readonly chance?: number | undefined
  /** Whether a target does not support some parameters of the request. */
  readonly losesParameters?: ((target: Target) => boolean) | undefined
}

/** What of a request decides what it costs and how long it takes. */
export interface RequestFacts {
  readonly stream: boolean
  readonly inputTokens: number
  /** The most that an answer may have; absent where the caller sets no limit. */
  readonly maxOutputTokens?: number | undefined
  /** How many candidates or images are requested. */
  readonly candidates: number
}
