// What the translate lane asks of a protocol: to say in its own words what is said, and to read what is said in them.
// Codecs are pure: no clock, no chance, no input or output, no log.

import type { ChatRequest, ChatSettings } from "../canonical/chat/chat-request.ts"
import type { ChatResponse } from "../canonical/chat/chat-response.ts"
import type { MediaPart } from "../canonical/chat/content-part.ts"
import type { ReasoningEffort } from "../canonical/chat/reasoning-effort.ts"
import type { StreamEvent } from "../canonical/chat/stream-event.ts"
import type { GatewayError } from "../canonical/gateway-error.ts"
import type { HostedCallCounter } from "../canonical/hosted-calls.ts"
import type { JsonObject } from "../canonical/json.ts"
import type { Losses } from "../canonical/loss.ts"
import type { SettingFates } from "../canonical/setting-fates.ts"
import type { SseFrame } from "../transport/streams/sse.ts"
import type { StreamStep } from "../transport/streams/stream-step.ts"
import type { FrameContext, RequestEnvelope, ResponseStorage, UpstreamError } from "./contract.ts"
import type { EmbeddingCodecs } from "./embedding-codec.ts"
import type { ImageCodecs } from "./image-codec.ts"

/** What a client says to us, and what we say back. */
export interface IngressCodec {
  /** Whether its clients drop what they do not know, so that a seal does not come back by them. */
  readonly dropsSeals?: boolean
  /** Whether some of its clients drop thoughts with their seals, but give back what stands on a call. */
  readonly dropsThoughts?: boolean
  /** Whether some of its clients drop hidden thoughts, or get the seal of a call when there is no place left for it. */
  readonly mayLoseSeals?: boolean
  /** Whether its clients show thoughts wherever they are told, and have no word to ask for them. */
  readonly showsThoughts?: true
  /** What ids of calls its clients take. */
  readonly callId: RegExp
  /**
   * Reads a request that `readRequest` has found sound. What it has no word for rides along in `extra` and `foreign`;
   * envelopes of seals in the protocol's opaque slots are opened.
   */
  decodeRequest(body: JsonObject, envelope: RequestEnvelope): ChatRequest
  /** How a count of a request's tokens is told; absent where its clients do not ask for one. */
  encodeCount?(tokens: number): JsonObject
  /** Where each setting stands in a request; what it has no word for is never set by it. */
  readonly settingPaths: SettingPathTable
  encodeResponse(response: ChatResponse, context: ClientResponseContext): JsonObject
  /**
   * Writes a stream's events as the bytes this protocol's clients read, in byte text, each event as soon as it is there.
   * An order of events that the protocol forbids is put right, never written. `stream-error` is not its business.
   */
  encodeStream(context: ClientResponseContext): StreamWriter
}

export type SettingPathTable = { readonly [Name in keyof Required<ChatSettings>]: SettingPath } & {
  /** Where what a setting holds has a place of its own, by the path to it: `reasoning.effort`. */
  readonly [path: `${string}.${string}`]: SettingPath
}

/** A path; several where it may stand in one of them. */
type SettingPath = string | readonly string[]

/** A stream as it is written to a client. */
export interface StreamWriter extends StreamStep<StreamEvent, string> {
  /** An error after what has been written so far, such that this protocol's clients raise it. */
  errorFrame(error: GatewayError, context: FrameContext): string
  /** For clients that would read an error as a part of what came right before it: how long it has to wait. */
  readonly errorPauseMs?: number
}

/** What an answer must say that no upstream can know. */
export interface ClientResponseContext {
  /** The answer's id where the upstream gave none fit for this protocol: 24 letters and digits, to put a prefix before. */
  readonly id: string
  /** The `<provider>/<model-name>` the caller shall read. */
  readonly model: string
  /** What the caller asked for, but for what was said. */
  readonly request: RequestParameters
  /** In seconds. */
  readonly unixTime: number
  /** Whether the caller asked for usage inside the stream. */
  readonly usageRequested: boolean
  readonly framing: "events" | "array"
  /** What the answer says of being kept; absent in protocols that know no such thing. */
  readonly storage?: ResponseStorage | undefined
  /** What of the answer could not be said. */
  readonly losses: Losses
}

/** A request without its conversation. Plain data: it crosses threads. */
export type RequestParameters = Omit<ChatRequest, "turns" | "instructions">

/** What we say to an upstream, and what it says back. */
export interface UpstreamCodec {
  readonly fates: SettingFates
  /** What names of tools, and ids of calls, must look like; the lane sees to it that they do. */
  readonly toolName: RegExp
  readonly callId: RegExp
  /** Whether media of this kind must stand in the request itself, so that an address of it is of no use. */
  inlines(media: MediaPart["media"]): boolean
  /** Whether hosts of this protocol call remote servers' tools themselves, and can be told of such calls. */
  readonly callsRemoteServers?: true
  /** Whether a conversation may hold calls only where tools are declared. */
  readonly callsNeedTools?: true
  /** Whose seals an upstream takes: those of two that have one minter are each other's. */
  minter(whose: SealOwner): string
  /** How a call that generates is put. */
  operationFor(model: string, stream: boolean): UpstreamOperation
  /** What a request needs in its headers beside what every call has. */
  headersFor?(request: RequestParameters): Readonly<Record<string, string>>
  /** Every leaf of the request is read, or named in the losses; what is refused throws a GatewayError. */
  encodeRequest(request: ChatRequest, context: UpstreamRequestContext): JsonObject
  /** Undefined where it is no answer of this protocol. */
  decodeResponse(body: JsonObject, context: UpstreamResponseContext): ChatResponse | undefined
  decodeStream(context: UpstreamResponseContext): StreamStep<SseFrame, StreamEvent>
  decodeError(error: UpstreamError): GatewayError
  /** Absent where no upstream of this protocol runs tools that it bills by the call. */
  countHostedCalls?(): HostedCallCounter
  /** Absent where no upstream of this protocol counts tokens. */
  readonly counter?: TokenCountCodec
}

/** How an upstream is asked how many tokens a request has. */
export interface TokenCountCodec {
  errand(model: string): UpstreamOperation
  /** The question about a request that would generate, as this protocol writes it. Both are byte text. */
  encodeCountRequest(text: string, model: string): string
  /** Undefined if it is not a count. */
  decodeCount(answer: JsonObject): number | undefined
}

interface SealOwner {
  /** Of the model: whichever host it is called at, it is the same. */
  readonly author: string
  readonly account: string
}

interface UpstreamOperation {
  /** In the protocol's own word. */
  readonly operation: string
  /** Below the upstream's base address. */
  readonly path: string
  /** What the protocol asks every call to carry. */
  readonly headers: Readonly<Record<string, string>>
}

export interface UpstreamRequestContext {
  /** The model's name there. */
  readonly model: string
  readonly stream: boolean
  /** Whether usage inside a stream must be asked for. */
  readonly streamUsage: "ask" | "sent"
  /** The members by which the upstream takes the output limit, the best first, where a protocol has several. */
  readonly limitMembers?: readonly string[] | undefined
  /** Whose seals may be sent: those of others are left out, and reported. */
  readonly minter: string
  /** The most the model puts out, for protocols that must be told a limit. */
  readonly maxOutputTokens: number
  readonly reasons: boolean
  /** Whether thoughts that are asked for without a word on how to show them are to be told. */
  readonly showsThoughts?: boolean
  /** The words for effort that the model takes, where they are known. */
  readonly efforts?: readonly ReasoningEffort[]
  /** How many tokens it may be told to think, where it takes a number. */
  readonly thinkingTokens?: { readonly min?: number; readonly max?: number }
  /** Whether it lets nobody set a temperature and its like. */
  readonly fixedSampling?: boolean
  /** Whether the host calls no remote servers, though others of its protocol do. */
  readonly lacksRemoteServers?: boolean
  readonly losses: Losses
}

export interface UpstreamResponseContext {
  /** Letters and digits to make ids of, for protocols in which calls may have none. */
  readonly id: string
  /** Who makes the seals in this answer. */
  readonly minter: string
  /** The tools with text input that the request declares; absent where they are not known. */
  readonly customTools?: ReadonlySet<string>
}

export interface ChatCodec {
  readonly ingress: IngressCodec
  readonly upstream: UpstreamCodec
}

/** Those there are, by protocol id. */
export interface CodecRegistry {
  readonly ingress: ReadonlyMap<string, IngressCodec>
  readonly upstream: ReadonlyMap<string, UpstreamCodec>
  /** For what is embedded; absent where nobody does. */
  readonly embedding?: EmbeddingCodecs
  /** For what is drawn; absent where nobody does. */
  readonly image?: ImageCodecs
}
