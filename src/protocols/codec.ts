// What the translate lane asks of a protocol: to say in its own words what is said, and to read what is said in them.
// Codecs are pure: no clock, no chance, no input or output, no log.
import type { Fates } from "../canonical/fates.ts"
import type { JsonObject } from "../canonical/json.ts"
import type { Losses } from "../canonical/loss.ts"
import type { ChatRequest } from "../canonical/request.ts"
import type { ChatResponse } from "../canonical/response.ts"
import type { StreamEvent } from "../canonical/stream.ts"
import type { Frame } from "../transport/sse.ts"
import type { Step } from "../transport/step.ts"
import type { Envelope } from "./contract.ts"

/** What a client says to us, and what we say back. */
interface IngressCodec {
  /**
   * Reads a request that `readRequest` has found sound. What it has no word for rides along in `extra` and `foreign`;
   * envelopes of seals in the protocol's opaque slots are opened.
   */
  decodeRequest(body: JsonObject, envelope: Envelope): ChatRequest
  encodeResponse(response: ChatResponse, context: EncodeContext): JsonObject
  /**
   * Writes a stream's events as the bytes this protocol's clients read, in byte text, each event as soon as it is there.
   * An order of events that the protocol forbids is put right, never written. `stream-error` is not its business.
   */
  encodeStream(context: EncodeContext): Step<StreamEvent, string>
}

/** What an answer must say that no upstream can know. */
export interface EncodeContext {
  /** The answer's id where the upstream gave none fit for this protocol: 24 letters and digits, to put a prefix before. */
  readonly id: string
  /** The `<provider>/<model-name>` the caller shall read. */
  readonly model: string
  /** In seconds. */
  readonly unixTime: number
  /** Whether the caller asked for usage inside the stream. */
  readonly usageAsked: boolean
  readonly framing: "events" | "array"
  /** What of the answer could not be said. */
  readonly losses: Losses
}

/** What we say to an upstream, and what it says back. */
interface UpstreamCodec {
  readonly fates: Fates
  /** What names of tools, and ids of calls, must look like; the lane sees to it that they do. */
  readonly toolName: RegExp
  readonly callId: RegExp
  /** Every leaf of the request is read, or named in the losses; what is refused throws a GatewayError. */
  encodeRequest(request: ChatRequest, context: UpstreamContext): JsonObject
  /** Undefined where it is no answer of this protocol. */
  decodeResponse(body: JsonObject, context: DecodeContext): ChatResponse | undefined
  decodeStream(context: DecodeContext): Step<Frame, StreamEvent>
}

export interface UpstreamContext {
  /** The model's name there. */
  readonly model: string
  readonly stream: boolean
  /** Whether usage inside a stream must be asked for. */
  readonly streamUsage: "ask" | "sent"
  /** Whose seals may be sent: those of others are left out, and reported. */
  readonly minter: string
  /** The most the model puts out, for protocols that must be told a limit. */
  readonly maxOutputTokens: number
  readonly reasons: boolean
  readonly losses: Losses
}

export interface DecodeContext {
  /** Letters and digits to make ids of, for protocols in which calls may have none. */
  readonly id: string
  /** Who makes the seals in this answer. */
  readonly minter: string
}

export interface Codec {
  readonly ingress: IngressCodec
  readonly upstream: UpstreamCodec
}
