// What the exchange asks of a protocol. One folder per protocol fulfils it; only the composition root knows the list.
import type { GatewayError } from "../canonical/error.ts"
import type { Json, JsonObject } from "../canonical/json.ts"
import type { ModelCard } from "../canonical/model.ts"
import type { RoutingWishes } from "../canonical/request.ts"
import type { StreamEvent } from "../canonical/stream.ts"
import type { Usage } from "../canonical/usage.ts"
import type { Outline } from "../transport/json-scan.ts"
import type { Edit } from "../transport/json-splice.ts"
import type { Frame } from "../transport/sse.ts"
import type { Step } from "../transport/step.ts"

export type ProtocolId = "openai-chat"

/** What the gateway needs to know of a request; everything else passes unread. Plain data: it crosses threads. */
export interface Reading {
  readonly model: string
  readonly stream: boolean
  /** Whether the caller asked for usage inside the stream. */
  readonly usageAsked: boolean
  readonly routing: RoutingWishes
}

/** A path of this protocol and what it does. `{model}` stands for the rest of the path. */
export interface Endpoint {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly does: "generate" | "list-models" | "count-models" | "get-model"
}

export interface RelayTarget {
  /** The model's name at the upstream. */
  readonly model: string
  /** Whether the upstream must be asked to report usage inside a stream, or does so unasked. */
  readonly streamUsage: "ask" | "sent"
}

export interface RelayContext {
  /** The `<provider>/<model-name>` the caller shall read. */
  readonly model: string
  readonly usageAsked: boolean
}

/** How one upstream stream passes: the observer reads it, `edit` says what of each frame goes on. */
export interface StreamRelay {
  readonly observer: Step<Frame, StreamEvent>
  edit(frame: Frame): string
  /** The members in which events that grow the same part may differ, and still pass alike. */
  readonly mayVary: ReadonlySet<string>
}

interface ErrorContext {
  readonly requestId: string
}

/** An error as an upstream told it. */
export interface UpstreamError {
  readonly status: number
  readonly retryAfterMs?: number | undefined
  /** The body as ordinary text, bounded. */
  readonly body: string
}

export interface Protocol {
  readonly id: ProtocolId
  readonly endpoints: readonly Endpoint[]
  /** The bytes a client of this protocol takes for a sign of life. */
  readonly heartbeat: string
  /** The terminal event, for upstreams that finish an answer and leave it out. */
  readonly terminal: string

  /** Checks every bound of the specification; throws a GatewayError that names the member at fault. */
  readRequest(body: JsonObject): Reading
  /** The members the gateway owns, for this target. */
  requestEdits(reading: Reading, target: RelayTarget): Edit[]
  /** A unary answer as it passes, and the usage it reports; undefined where it is no answer of this protocol. */
  relayAnswer(text: string, outline: Outline, context: RelayContext): { text: string; usage?: Usage } | undefined
  relayStream(context: RelayContext): StreamRelay

  decodeError(error: UpstreamError): GatewayError
  encodeError(error: GatewayError, context: ErrorContext): Json
  /** An error after the stream has begun, as byte text that this protocol's clients raise on. */
  errorFrame(error: GatewayError, context: ErrorContext): string

  encodeModel(card: ModelCard): Json
  encodeModels(cards: readonly ModelCard[]): Json
}
