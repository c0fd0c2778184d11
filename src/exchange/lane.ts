// How one attempt is put to its target, and its answer to the client: in the client's own bytes, or said again in
// another protocol.

import type { GatewayError } from "../canonical/error.ts"
import type { HostedCalls } from "../canonical/hosted-calls.ts"
import type { StreamEvent } from "../canonical/stream.ts"
import type { Usage } from "../canonical/usage.ts"
import type { FrameContext, UpstreamError } from "../protocols/contract.ts"
import type { Trial } from "../routing/health.ts"
import type { Target } from "../routing/plan.ts"
import type { ResendAllowance } from "../transport/resend-allowance.ts"
import type { Pause } from "../transport/retry-after.ts"
import type { Frame } from "../transport/sse.ts"
import type { Verdict } from "../transport/tee.ts"
import type { Bill } from "./bill.ts"
import type { Call, House } from "./call.ts"
import type { ReadRequest } from "./request.ts"

/** One try at one target. */
export interface Attempt {
  readonly call: Call
  readonly house: House
  readonly request: ReadRequest
  readonly target: Target
  readonly lane: Lane
  /** Absent where nothing is charged. */
  readonly bill: Bill | undefined
  /** Absent where it says nothing of how its target answers. */
  readonly trial?: Trial | undefined
  /** The conversation it is part of, where it matters who answers that. */
  readonly session?: string | undefined
  /** What of the whole exchange may be sent again on a fresh connection. */
  readonly resends?: ResendAllowance | undefined
  /** What the upstream says of its limits, once it has refused. */
  pause?: Pause
}

export interface Lane {
  /** Where the call goes. */
  url(attempt: Attempt): string
  /** What it carries. */
  message(attempt: Attempt): Message
  /** What a unary answer is to the client; undefined where it is no answer of the protocol spoken. */
  answer(bytes: Uint8Array, attempt: Attempt): Answered | undefined
  passage(attempt: Attempt, watch: Watch): Passage
  decodeError(error: UpstreamError, attempt: Attempt): GatewayError
}

interface Message {
  readonly headers: Headers
  readonly body: string | Uint8Array<ArrayBuffer>
}

export interface Answered {
  readonly body: string | Uint8Array<ArrayBuffer>
  readonly usage?: Usage
  /** The model that the upstream says it answered with. */
  readonly model?: string | undefined
  readonly images?: number
  /** Tools that the upstream says it ran. */
  readonly hostedCalls?: HostedCalls | undefined
  /** What it says, for when nobody counts it. */
  said(): string
  /** The body with usage that was counted here; absent where the upstream's own stays. */
  withUsage?: ((usage: Usage) => Answered["body"]) | undefined
}

/** Who hears of what an upstream's stream says, and may end it. */
export interface Watch {
  /** Told of each frame before its events. */
  onFrame(frame: Frame): Verdict
  onEvent(event: StreamEvent): Verdict
  /** Something was said by an event that passed unread; it stands in these bytes as in JSON. */
  onSaid(bytes: Uint8Array, from: number, to: number): void
  /** What is read along could not be; what passes does not change by it. */
  onBlindness(cause: unknown): void
}

/** What a stream's bytes go through on their way from the upstream to the client. */
export interface Passage {
  /** The bytes to pass on for these; undefined when there are none yet. */
  push(bytes: Uint8Array): Uint8Array | undefined
  /** The bytes that the end of the upstream's bytes lets go. */
  finish(): Uint8Array | undefined
  /** Asks what the end of it all means. */
  conclude(): void
  /** What ends a whole answer, for upstreams that leave it out, in byte text. */
  terminal(): string
  /** The end that was held back for want of usage, with what was counted here; as it came where nothing was. */
  end(usage: Usage | undefined): Uint8Array | undefined
  /** An error after what has passed so far, such that the client raises it, in byte text. */
  errorFrame(error: GatewayError, context: FrameContext): string
  /** For clients that would read an error as a part of what came right before it: how long it has to wait. */
  readonly errorPauseMs?: number | undefined
  /** What was used according to events that passed unread. */
  usageAlike?(): Usage | undefined
}
