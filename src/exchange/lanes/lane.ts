// A lane sends an attempt to its target and its response to the client: as the client's own bytes, or translated.

import type { StreamEvent } from "../../canonical/chat/stream-event.ts"
import type { GatewayError } from "../../canonical/gateway-error.ts"
import type { BilledToolCalls } from "../../canonical/hosted-calls.ts"
import type { Loss } from "../../canonical/loss.ts"
import type { Usage } from "../../canonical/usage.ts"
import type { FrameContext, UpstreamError } from "../../protocols/contract.ts"
import type { TrackedAttempt } from "../../routing/health-monitor.ts"
import type { Target } from "../../routing/route-plan.ts"
import type { ResendAllowance } from "../../transport/resend-allowance.ts"
import type { SseFrame } from "../../transport/streams/sse.ts"
import type { FrameVerdict } from "../../transport/streams/tee.ts"
import type { AttemptFacts } from "../attempt/attempt-log.ts"
import type { WaitingClient } from "../attempt/upstream-calls.ts"
import type { ChargeSession } from "../charge/charge-session.ts"
import type { ClientCall, ExchangeDeps } from "../exchange-deps.ts"
import type { ReadRequest } from "../read-request.ts"

/** One try at one target. */
export interface Attempt {
  readonly call: ClientCall
  /** The client that waits for this attempt: it is gone, too, if another attempt has won. */
  readonly client: WaitingClient
  readonly deps: ExchangeDeps
  readonly request: ReadRequest
  readonly target: Target
  readonly lane: Lane
  readonly facts: AttemptFacts
  /** Absent if nothing is charged. */
  readonly chargeSession: ChargeSession | undefined
  /** Absent if the attempt must not count for the target's health. */
  readonly trial?: TrackedAttempt | undefined
  /** The session, if affinity matters. */
  readonly session?: string | undefined
  /** What of the whole exchange may be sent again on a fresh connection. */
  readonly resends?: ResendAllowance | undefined
}

export interface Lane {
  url(request: LaneRequest): string
  message(request: LaneRequest): UpstreamMessage
  /** The unary response for the client; undefined if the upstream's response is not valid in its protocol. */
  answer(bytes: Uint8Array, attempt: Attempt): UnaryAnswer | undefined
  openPipe(attempt: Attempt, watch: StreamWatcher): StreamPipe
  decodeError(error: UpstreamError, attempt: Attempt): GatewayError
}

/** The part of an attempt that the upstream request is made of. */
export type LaneRequest = Pick<Attempt, "call" | "deps" | "request" | "target">

interface UpstreamMessage {
  readonly headers: Headers
  readonly body: string | Uint8Array<ArrayBuffer>
  /** Translation losses; undefined if nothing was translated. Those of the response are added as it is translated. */
  readonly losses: readonly Loss[] | undefined
}

export interface UnaryAnswer {
  readonly body: string | Uint8Array<ArrayBuffer>
  readonly usage?: Usage | undefined
  /** The model that the upstream reports. */
  readonly model?: string | undefined
  readonly images?: number | undefined
  /** Tools that the upstream reports it ran. */
  readonly hostedCalls?: BilledToolCalls | undefined
  /** Its text, for counting if the upstream reports no usage. */
  transcript(): string
  /** The body with the gateway's count; absent if the upstream's usage stays. */
  withUsage?: ((usage: Usage) => UnaryAnswer["body"]) | undefined
}

/** Observes an upstream's stream, and may end it. */
export interface StreamWatcher {
  /** Called for each frame before its events. */
  onFrame(frame: SseFrame): FrameVerdict
  onEvent(event: StreamEvent): FrameVerdict
  /** An event passed unread; its text is in these bytes, escaped as in JSON. */
  onText(bytes: Uint8Array, from: number, to: number): void
  /** What is read along could not be; what passes does not change by it. */
  onObserverFailure(cause: unknown): void
}

/** What a stream's bytes go through on their way from the upstream to the client. */
export interface StreamPipe {
  /** The bytes to pass on for these; undefined when there are none yet. */
  push(bytes: Uint8Array): Uint8Array | undefined
  /** The bytes that the end of the upstream's bytes lets go. */
  finish(): Uint8Array | undefined
  /** The meaning of the stream's end. */
  interpretEnd(): void
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
