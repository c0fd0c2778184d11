// The contract between the translate lane and a chat protocol: encoding and decoding the canonical form. Codecs are
// pure: no clock, no randomness, no I/O, no log.

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

/** The client half: decodes requests, encodes responses. */
export interface IngressCodec {
  /** True if its clients drop unknown members, so that a seal does not come back. */
  readonly dropsSeals?: boolean
  /** True if some of its clients drop reasoning with its seals, but return what is attached to a call. */
  readonly dropsThoughts?: boolean
  /** True if some of its clients drop hidden reasoning, or receive the seal of a call when no member is left for it. */
  readonly mayLoseSeals?: boolean
  /** True if its clients show reasoning whenever it is sent, and have no setting to request it. */
  readonly showsThoughts?: true
  /** The call ids that its clients accept. */
  readonly callId: RegExp
  /**
   * Decodes a request that `readRequest` has accepted. Members without a canonical counterpart go to `extra` and
   * `foreign`; envelopes of seals in the protocol's opaque members are opened.
   */
  decodeRequest(body: JsonObject, envelope: RequestEnvelope): ChatRequest
  /** Encodes a token count; absent if the protocol has no counting endpoint. */
  encodeCount?(tokens: number): JsonObject
  /** The path of each setting in a request; empty if the protocol has no such setting. */
  readonly settingPaths: SettingPathTable
  encodeResponse(response: ChatResponse, context: ClientResponseContext): JsonObject
  /**
   * Encodes a stream's events for this protocol's clients, in byte text, each as soon as it arrives. An order of events
   * that the protocol forbids is corrected. `stream-error` is handled by `errorFrame`.
   */
  encodeStream(context: ClientResponseContext): StreamWriter
}

export type SettingPathTable = { readonly [Name in keyof Required<ChatSettings>]: SettingPath } & {
  /** The path of a setting's member, such as `reasoning.effort`. */
  readonly [path: `${string}.${string}`]: SettingPath
}

/** One path, or several alternatives. */
type SettingPath = string | readonly string[]

/** A stream as it is written to a client. */
export interface StreamWriter extends StreamStep<StreamEvent, string> {
  /** An error after the written events, in a form that this protocol's clients raise. */
  errorFrame(error: GatewayError, context: FrameContext): string
  /** The delay before an error, for clients that would otherwise read it as part of the previous event. */
  readonly errorPauseMs?: number
}

/** Values of a response that no upstream can know. */
export interface ClientResponseContext {
  /** The response's id if the upstream's does not fit this protocol: 24 letters and digits, to be prefixed. */
  readonly id: string
  /** The `<provider>/<model-name>` that the caller sees. */
  readonly model: string
  /** The caller's request without its conversation. */
  readonly request: RequestParameters
  /** In seconds. */
  readonly unixTime: number
  /** True if the caller requested usage inside the stream. */
  readonly usageRequested: boolean
  readonly framing: "events" | "array"
  /** The storage of the response; absent in protocols without stored responses. */
  readonly storage?: ResponseStorage | undefined
  /** The parts of the response that could not be expressed. */
  readonly losses: Losses
}

/** A request without its conversation. Plain data: it crosses threads. */
export type RequestParameters = Omit<ChatRequest, "turns" | "instructions">

/** The provider half: encodes requests, decodes responses. */
export interface UpstreamCodec {
  readonly fates: SettingFates
  /** The allowed tool names and call ids; the lane makes them fit. */
  readonly toolName: RegExp
  readonly callId: RegExp
  /** True if media of this kind must be inline, because the protocol accepts no URL for it. */
  inlines(media: MediaPart["media"]): boolean
  /** True if hosts of this protocol call remote servers' tools themselves and accept such calls in a conversation. */
  readonly callsRemoteServers?: true
  /** True if a conversation may contain calls only if tools are declared. */
  readonly callsNeedTools?: true
  /** The minter of an upstream's seals: two upstreams with the same minter accept each other's. */
  minter(whose: SealOwner): string
  /** The upstream operation that generates a response. */
  operationFor(model: string, stream: boolean): UpstreamOperation
  /** Headers that this request needs in addition to those of every call. */
  headersFor?(request: RequestParameters): Readonly<Record<string, string>>
  /** Every leaf of the request is encoded or reported as a loss; a refused request throws a GatewayError. */
  encodeRequest(request: ChatRequest, context: UpstreamRequestContext): JsonObject
  /** Undefined if it is not a response of this protocol. */
  decodeResponse(body: JsonObject, context: UpstreamResponseContext): ChatResponse | undefined
  decodeStream(context: UpstreamResponseContext): StreamStep<SseFrame, StreamEvent>
  decodeError(error: UpstreamError): GatewayError
  /** Absent if no upstream of this protocol bills hosted tools per call. */
  countHostedCalls?(): HostedCallCounter
  /** Absent if no upstream of this protocol counts tokens. */
  readonly counter?: TokenCountCodec
}

/** Counts a request's tokens at an upstream. */
export interface TokenCountCodec {
  errand(model: string): UpstreamOperation
  /** The question about a request that would generate, as this protocol writes it. Both are byte text. */
  encodeCountRequest(text: string, model: string): string
  /** Undefined if it is not a count. */
  decodeCount(answer: JsonObject): number | undefined
}

interface SealOwner {
  /** The model's author, which is the same at every host. */
  readonly author: string
  readonly account: string
}

interface UpstreamOperation {
  /** The operation's name in the protocol. */
  readonly operation: string
  /** Below the upstream's base address. */
  readonly path: string
  /** Headers of every call in this protocol. */
  readonly headers: Readonly<Record<string, string>>
}

export interface UpstreamRequestContext {
  /** The model's name at the upstream. */
  readonly model: string
  readonly stream: boolean
  /** Says if usage inside a stream must be requested. */
  readonly streamUsage: "ask" | "sent"
  /** The members in which the upstream accepts the output limit, the preferred first, if a protocol has several. */
  readonly limitMembers?: readonly string[] | undefined
  /** The minter of seals that may be sent: other seals are dropped and reported. */
  readonly minter: string
  /** The model's output limit, for protocols that require one. */
  readonly maxOutputTokens: number
  readonly reasons: boolean
  /** True if requested reasoning is shown when the request does not set how. */
  readonly showsThoughts?: boolean
  /** The efforts that the model accepts, if known. */
  readonly efforts?: readonly ReasoningEffort[]
  /** The bounds of the thinking budget, if the model accepts one. */
  readonly thinkingTokens?: { readonly min?: number; readonly max?: number }
  /** True if the model rejects temperature and other sampling settings. */
  readonly fixedSampling?: boolean
  /** True if this host calls no remote servers, although others of its protocol do. */
  readonly lacksRemoteServers?: boolean
  readonly losses: Losses
}

export interface UpstreamResponseContext {
  /** Letters and digits for generated ids, for protocols with optional call ids. */
  readonly id: string
  /** The minter of the seals in this response. */
  readonly minter: string
  /** The tools with text input that the request declares; absent if unknown. */
  readonly customTools?: ReadonlySet<string>
}

export interface ChatCodec {
  readonly ingress: IngressCodec
  readonly upstream: UpstreamCodec
}

/** All codecs, by protocol id. */
export interface CodecRegistry {
  readonly ingress: ReadonlyMap<string, IngressCodec>
  readonly upstream: ReadonlyMap<string, UpstreamCodec>
  /** Codecs for embeddings; absent if there are none. */
  readonly embedding?: EmbeddingCodecs
  /** Codecs for images; absent if there are none. */
  readonly image?: ImageCodecs
}
