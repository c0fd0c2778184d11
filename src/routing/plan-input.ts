// The inputs of one request's plan.
import type { RoutingOptions } from "../canonical/chat/chat-request.ts"
import type { SessionHome } from "./affinity.ts"
import type { HealthSnapshot } from "./health-monitor.ts"
import type { RoutingTable, Target } from "./target.ts"

export interface PlanInput {
  /** The client's protocol. */
  readonly protocol: string
  readonly table: RoutingTable
  /** The request counter that rotates equal candidates. */
  readonly rotation: number
  /** True if the request can be translated to another protocol. */
  readonly translates: boolean
  readonly routingOptions?: RoutingOptions | undefined
  readonly facts?: RequestFacts | undefined
  /** Absent, every target counts as healthy. */
  readonly health?: HealthSnapshot | undefined
  /** The target that holds the session's prompt cache. */
  readonly home?: SessionHome | undefined
  /** Uniform from 0 to below 1; decides if this request explores. Absent, it does not. */
  readonly chance?: number | undefined
  /** True if a target does not support some parameters of the request. */
  readonly losesParameters?: ((target: Target) => boolean) | undefined
}

/** The facts of a request that decide its cost and duration. */
export interface RequestFacts {
  readonly stream: boolean
  readonly inputTokens: number
  /** The limit of output tokens; absent if the caller sets none. */
  readonly maxOutputTokens?: number | undefined
  /** The number of requested candidates or images. */
  readonly candidates: number
}
