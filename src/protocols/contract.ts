// What the exchange asks of a protocol. One folder per protocol fulfils it; only the composition root knows the list.

import type { RoutingOptions } from "../canonical/chat/chat-request.ts"
import type { ReasoningEffort } from "../canonical/chat/reasoning-effort.ts"
import type { StreamEvent } from "../canonical/chat/stream-event.ts"
import type { GatewayError } from "../canonical/gateway-error.ts"
import type { Json, JsonObject } from "../canonical/json.ts"
import type { ModelCard } from "../canonical/model.ts"
import type { Usage } from "../canonical/usage.ts"
import type { JsonOutline } from "../transport/json/json-scan.ts"
import type { JsonEdit } from "../transport/json/json-splice.ts"
import type { MayVary } from "../transport/streams/frame-stencil.ts"
import type { SseFrame } from "../transport/streams/sse.ts"
import type { StreamStep } from "../transport/streams/stream-step.ts"
import type { BodyGuard } from "./body-rules.ts"

export type ProtocolId =
  | "openai-chat"
  | "openai-responses"
  | "openai-completions"
  | "openai-embeddings"
  | "openai-images"
  | "openai-moderations"
  | "anthropic-messages"
  | "gemini-generate"
  | "gemini-embed"

/** What the models make that a protocol is spoken with. */
export const KINDS: Readonly<Record<ProtocolId, ModelCard["kind"]>> = {
  "openai-chat": "chat",
  "openai-responses": "chat",
  "openai-completions": "chat",
  "openai-embeddings": "embedding",
  "openai-images": "image",
  "openai-moderations": "moderation",
  "anthropic-messages": "chat",
  "gemini-generate": "chat",
  "gemini-embed": "embedding",
}

/** A path of this protocol, in all its spellings, and what it does. `{rest}` stands for one or more segments. */
export interface ProtocolPath {
  readonly method: "GET" | "POST"
  readonly paths: readonly string[]
  /** Paths that another protocol has too: a request there is of this one where it carries the header. */
  readonly shared?: { readonly paths: readonly string[]; readonly header: string }
  readonly does: "generate" | "count-tokens" | "list-models" | "count-models" | "get-model"
}

/** What of a call does not stand in its body. Plain data: it crosses threads. */
export interface RequestEnvelope {
  readonly does: ProtocolPath["does"]
  /** What the path's `{rest}` stands for, percent-decoded once; "" on exact paths. */
  readonly rest: string
  /** Without its `?`. */
  readonly query: string
  /** Of the headers this protocol reads those that were sent, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/** What the gateway needs to know of a request; everything else passes unread. Plain data: it crosses threads. */
export interface RequestSummary {
  /** What is asked of the upstream, in the protocol's own word. */
  readonly operation: string
  readonly model: string
  readonly stream: boolean
  /** How the client wants its stream written. */
  readonly framing: "events" | "array"
  /** Whether the caller asked for usage inside the stream. */
  readonly usageRequested: boolean
  readonly outputLimits: OutputLimits
  /** Whether no more than a count of tokens is asked for. */
  readonly counts?: boolean
  /** What is asked of the answers that the gateway keeps; absent in protocols that know none. */
  readonly storage?: ResponseStorage
  /** What is to be embedded, as far as hosts set bounds to it. */
  readonly embeds?: EmbeddingInputSummary
  /** Whether the provider may run tools of its own and call the model anew for each: their usage is one sum. */
  readonly runsTools?: boolean
  /** Whether it names remote servers whose tools the provider shall call, or tells of such calls. */
  readonly remoteServers?: boolean
  /** The member that asks for an answer in audio; absent where none does. */
  readonly audioMember?: string
  /** What is to be drawn, as far as hosts differ in it. */
  readonly draws?: ImageOutputSummary
  /** What the models make that it may be about, where that is more than the protocol is spoken with. */
  readonly kinds?: readonly ModelCard["kind"][]
  /** Whether the caller asks the provider to keep the answer, which is never asked of a shared account. */
  readonly storesUpstream?: boolean
  /** Whether it says something in a form that the vendor does not take, so that it is translated to its own protocol too. */
  readonly isRewritten?: boolean
  /** How hard to think, in the vendor's word, where the request says so in another gateway's. */
  readonly effort?: ReasoningEffort
  /** Identifiers of the caller's own users and caches, which leave salted per tenant. */
  readonly identifiers?: readonly UserIdentifier[]
  readonly routing: RoutingOptions
  /** Headers that go to the upstream beside its own. */
  readonly headers: Readonly<Record<string, string>>
}

/** A member that identifies somebody to the provider. */
export interface UserIdentifier {
  readonly path: readonly string[]
  readonly value: string
}

export interface EmbeddingInputSummary {
  readonly inputs: number
  /** Whether one of them is numbers of tokens. */
  readonly hasTokens: boolean
  /** Whether each of them names the model, which can only be written anew. */
  readonly namesModel?: boolean
}

interface ImageOutputSummary {
  /** Whether addresses are asked for, or bytes. */
  readonly choosesForm: boolean
}

/** What is asked of answers that are kept, and what this one says of being kept. */
export interface ResponseStorage {
  /** The id that the answer bears; absent until it is known that there shall be one. */
  readonly id?: string
  /** Whether it is to be found again. */
  readonly store: boolean
  /** The response whose conversation goes on. */
  readonly previous?: string
  /** Items of the input that name an item of a kept response instead of saying it. */
  readonly references?: readonly ItemReference[]
  /** How many bytes the answer may have to be kept. */
  readonly maxLength?: number
  /** What the caller wants to be told beside the answer. */
  readonly includes?: readonly string[]
  /** Whether all who may answer reason. */
  readonly reasons?: boolean
}

export interface ItemReference {
  /** Its place in the input. */
  readonly index: number
  readonly id: string
}

/** How much is asked for, as far as it costs. */
export interface OutputLimits {
  /** The most tokens an answer may have; absent where the caller sets no limit. */
  readonly maxOutputTokens?: number | undefined
  /** The members that wrote the limit, in protocols that have several; the smallest counts. */
  readonly limitMembers?: readonly string[]
  /** How many answers, or images. */
  readonly candidates: number
}

export interface RelayTarget {
  /** The model's name at the upstream. */
  readonly model: string
  /** Whether the upstream must be asked to report usage inside a stream, or does so unasked. */
  readonly streamUsage: "ask" | "sent"
  /** The members by which the upstream takes the output limit, the best first, where a protocol has several. */
  readonly limitMembers?: readonly string[] | undefined
  /** Members of the request that the upstream would refuse it for. */
  readonly unknown?: readonly string[] | undefined
  /** The words by which its model takes how hard to think; absent where it does not think. */
  readonly efforts?: readonly ReasoningEffort[] | undefined
  /** What an identifier of this caller is sent as; absent where it goes as it is. */
  readonly salt?: ((value: string) => string) | undefined
}

export interface RelayContext {
  /** The `<provider>/<model-name>` the caller shall read. */
  readonly model: string
  readonly reading: RequestSummary
}

export interface ErrorContext {
  readonly requestId: string
  /** The request came by the vendor's own path, so the error has to look as the vendor's client libraries expect. */
  readonly isVendorPath?: boolean
}

export interface FrameContext {
  readonly requestId: string
  /** In seconds. */
  readonly unixTime: number
}

/** How one upstream stream passes: the observer reads it, `edit` says what of each frame goes on. All is byte text. */
export interface StreamRelay {
  readonly observer: StreamStep<SseFrame, StreamEvent>
  edit(frame: SseFrame): string
  readonly mayVary: MayVary
  /** What ends a whole answer, for upstreams that leave it out. */
  terminal(): string
  /** The end of a stream that reported no usage, with the usage that was counted here where its clients expect one. */
  endWithUsage?(end: string, usage: Usage): string
  /** An error after what has passed so far, such that this protocol's clients raise it. */
  errorFrame(error: GatewayError, context: FrameContext): string
  /** For clients that would read an error as a part of what came right before it: how long it has to wait. */
  readonly errorPauseMs?: number
  /** Told of bytes that passed unread, being like those before. */
  passedAlike?(bytes: Uint8Array): void
  /** What the last of those reports as used so far, in protocols where every event does. */
  usageAlike?(): Usage | undefined
}

/** A unary answer, as byte text, and what it reports as used. */
export interface RelayedResponse {
  readonly text: string
  readonly usage?: Usage | undefined
  /** The model that the upstream reports. */
  readonly model?: string | undefined
  /** How many images it holds, where it is of such. */
  readonly images?: number
  /** What it says, for when nobody counts it, of a protocol that has no codec to tell. */
  transcript?(): string
  /** Its text with usage that was counted here; absent where it reports its own, or where clients expect none. */
  withUsage?(usage: Usage): string
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
  /** The base addresses that its own clients are given. */
  readonly prefixes: readonly string[]
  readonly endpoints: readonly ProtocolPath[]
  /** The headers beside `Authorization` that may carry the caller's key, and the query parameter that may. */
  readonly keyHeaders: readonly string[]
  readonly keyParameter?: string
  /** The headers it reads, in lower case. */
  readonly readsHeaders: readonly string[]
  /** A header that its clients read the request id from, beside `x-request-id`. */
  readonly idHeader?: string
  /** The bytes a client of this protocol takes for a sign of life. */
  readonly heartbeat: string
  readonly listing?: ModelListing
  /** Whether this path is the vendor's own and not the specification's stand-in for it; absent: errors do not differ. */
  isVendorPath?(path: string): boolean
  /** The protocol that is spoken where a path has this at its open end; undefined where it is this one. */
  protocolAt?(rest: string): Protocol | undefined

  /** Checks what every call must carry beside its body; throws a GatewayError. */
  checkEnvelope(envelope: RequestEnvelope): void
  /** What a body may not say, checked before it is read. */
  readonly bodyGuard: BodyGuard
  /** Checks every bound of the specification; throws a GatewayError that names the member at fault. */
  readRequest(body: JsonObject, envelope: RequestEnvelope): RequestSummary
  /** Where below its base address an upstream takes this request. */
  upstreamPath(reading: RequestSummary, model: string): string
  /** The members the gateway owns, for this target. */
  requestEdits(reading: RequestSummary, target: RelayTarget): readonly JsonEdit[]
  /** A unary answer as it passes; undefined where it is no answer of this protocol. */
  relayResponse(text: string, outline: JsonOutline, context: RelayContext): RelayedResponse | undefined
  relayStream(context: RelayContext): StreamRelay

  decodeError(error: UpstreamError): GatewayError
  encodeError(error: GatewayError, context: ErrorContext): Json
}

/** How models are shown to clients of a protocol. */
export interface ModelListing {
  /** It shows what can be called over any of these. */
  readonly over: readonly ProtocolId[]
  /** The model's name in a path's open end, where that holds more than the name. */
  nameIn?(rest: string): string
  encodeModel(card: ModelCard): Json
  /** The page of the list that the query asks for; all of it where it asks for none. */
  encodeModels(cards: readonly ModelCard[], query: URLSearchParams): Json
}
