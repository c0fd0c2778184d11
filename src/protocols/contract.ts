// The contract between the exchange and a protocol. Each protocol has a folder; only the composition root knows the
// list.

import type { RoutingOptions } from "../canonical/chat/chat-request.ts"
import type { ReasoningEffort } from "../canonical/chat/reasoning-effort.ts"
import type { StreamEvent } from "../canonical/chat/stream-event.ts"
import type { GatewayError } from "../canonical/gateway-error.ts"
import type { Json, JsonObject } from "../canonical/json.ts"
import type { ModelCard } from "../canonical/model.ts"
import type { ResponseHeaderName } from "../canonical/response-headers.ts"
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

/** The kind of models that each protocol calls. */
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

/** A path of this protocol, in all its spellings, and its operation. `{rest}` matches one or more segments. */
export interface ProtocolPath {
  readonly method: "GET" | "POST"
  readonly paths: readonly string[]
  /** Paths that another protocol also has: the header marks a request of this one. */
  readonly shared?: { readonly paths: readonly string[]; readonly header: string }
  readonly does: "generate" | "count-tokens" | "list-models" | "count-models" | "get-model"
}

/** The parts of a call outside its body. Plain data: it crosses threads. */
export interface RequestEnvelope {
  readonly does: ProtocolPath["does"]
  /** The match of the path's `{rest}`, percent-decoded once; "" on exact paths. */
  readonly rest: string
  /** Without its `?`. */
  readonly query: string
  /** The request's headers that this protocol reads, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/** The facts of a request that the gateway needs; everything else passes unread. Plain data: it crosses threads. */
export interface RequestSummary {
  /** The upstream operation, by the protocol's own name. */
  readonly operation: string
  readonly model: string
  readonly stream: boolean
  /** The framing of the client's stream. */
  readonly framing: "events" | "array"
  /** True if the caller requested usage inside the stream. */
  readonly usageRequested: boolean
  readonly outputLimits: OutputLimits
  /** True if only a token count is requested. */
  readonly counts?: boolean
  /** Storage by the gateway; absent in protocols without stored responses. */
  readonly storage?: ResponseStorage
  /** The inputs to embed, as far as hosts limit them. */
  readonly embeds?: EmbeddingInputSummary
  /** True if the provider may run its own tools and call the model again for each: their usage is one sum. */
  readonly runsTools?: boolean
  /** True if it names remote servers for the provider to call, or contains such calls. */
  readonly remoteServers?: boolean
  /** The member that requests audio output; absent if none does. */
  readonly audioMember?: string
  /** The images to generate, as far as hosts differ. */
  readonly draws?: ImageOutputSummary
  /** The kinds of models that the request may name, if more than the protocol's own kind. */
  readonly kinds?: readonly ModelCard["kind"][]
  /** True if the caller asks the provider to store the response, which is never forwarded to a shared account. */
  readonly storesUpstream?: boolean
  /**
   * True if the request has a form that the vendor does not accept, so that it is translated even to its own protocol.
   */
  readonly isRewritten?: boolean
  /** The reasoning effort, if the request sets it in a member of another gateway. */
  readonly effort?: ReasoningEffort
  /** Identifiers of the caller's own users and caches, which leave salted per tenant. */
  readonly identifiers?: readonly UserIdentifier[]
  readonly routing: RoutingOptions
  /** Headers for the upstream in addition to its own. */
  readonly headers: Readonly<Record<string, string>>
}

/** A member that identifies a user to the provider. */
export interface UserIdentifier {
  readonly path: readonly string[]
  readonly value: string
}

export interface EmbeddingInputSummary {
  readonly inputs: number
  /** True if an input is a list of token ids. */
  readonly hasTokens: boolean
  /** True if each input names the model, so that the request must be rewritten. */
  readonly namesModel?: boolean
}

interface ImageOutputSummary {
  /** True if the request chooses between URLs and bytes. */
  readonly choosesForm: boolean
}

/** The requested storage of a response, and its outcome. */
export interface ResponseStorage {
  /** The response's id; absent until the gateway assigns one. */
  readonly id?: string
  /** True if the response can be retrieved later. */
  readonly store: boolean
  /** The response that the conversation continues. */
  readonly previous?: string
  /** Items of the input that reference an item of a stored response. */
  readonly references?: readonly ItemReference[]
  /** The most bytes that a stored response may have. */
  readonly maxLength?: number
  /** The requested `include` values. */
  readonly includes?: readonly string[]
  /** True if every possible target reasons. */
  readonly reasons?: boolean
}

export interface ItemReference {
  /** Its place in the input. */
  readonly index: number
  readonly id: string
}

/** The requested output, as far as it affects the cost. */
export interface OutputLimits {
  /** The most tokens of a response; absent if the caller sets no limit. */
  readonly maxOutputTokens?: number | undefined
  /** The members that wrote the limit, in protocols that have several; the smallest counts. */
  readonly limitMembers?: readonly string[]
  /** Number of responses or images. */
  readonly candidates: number
}

export interface RelayTarget {
  /** The model's name at the upstream. */
  readonly model: string
  /** Says if usage inside a stream must be requested, or is always sent. */
  readonly streamUsage: "ask" | "sent"
  /** The members in which the upstream accepts the output limit, the preferred first, if a protocol has several. */
  readonly limitMembers?: readonly string[] | undefined
  /** Members of the request that the upstream would refuse it for. */
  readonly unknown?: readonly string[] | undefined
  /** The efforts that its model accepts; absent if it does not reason. */
  readonly efforts?: readonly ReasoningEffort[] | undefined
  /** Salts an identifier of this caller; absent if it is sent unchanged. */
  readonly salt?: ((value: string) => string) | undefined
}

export interface RelayContext {
  /** The `<provider>/<model-name>` that the caller sees. */
  readonly model: string
  readonly reading: RequestSummary
}

export interface ErrorContext {
  readonly requestId: string
  /** True for the vendor's own path, where the error has the shape that the vendor's client libraries expect. */
  readonly isVendorPath?: boolean
}

export interface FrameContext {
  readonly requestId: string
  /** In seconds. */
  readonly unixTime: number
}

/** Relays one upstream stream: the observer reads it, and `edit` rewrites each frame. All is byte text. */
export interface StreamRelay {
  readonly observer: StreamStep<SseFrame, StreamEvent>
  edit(frame: SseFrame): string
  readonly mayVary: MayVary
  /** The end of a complete response, for upstreams that omit it. */
  terminal(): string
  /** The end of a stream without reported usage, with the counted usage added if its clients expect it. */
  endWithUsage?(end: string, usage: Usage): string
  /** An error after the forwarded frames, in a form that this protocol's clients raise. */
  errorFrame(error: GatewayError, context: FrameContext): string
  /** The delay before an error, for clients that would otherwise read it as part of the previous event. */
  readonly errorPauseMs?: number
  /** Called with bytes that passed unread, because they repeat the shape of those before. */
  passedAlike?(bytes: Uint8Array): void
  /** The usage in the last of those, in protocols with usage in every event. */
  usageAlike?(): Usage | undefined
}

/** A unary response, as byte text, and its reported usage. */
export interface RelayedResponse {
  readonly text: string
  readonly usage?: Usage | undefined
  /** The model that the upstream reports. */
  readonly model?: string | undefined
  /** Number of images in the response, if it contains images. */
  readonly images?: number
  /** The response's text, to count its tokens if no usage is reported, for protocols without a codec. */
  transcript?(): string
  /** Its text with counted usage added; absent if it reports usage, or if clients expect none. */
  withUsage?(usage: Usage): string
}

/** An upstream's error response. */
export interface UpstreamError {
  readonly status: number
  readonly retryAfterMs?: number | undefined
  /** The body as ordinary text, bounded. */
  readonly body: string
}

export interface Protocol {
  readonly id: ProtocolId
  /** The base addresses for this protocol's clients. */
  readonly prefixes: readonly string[]
  readonly endpoints: readonly ProtocolPath[]
  /** The headers other than `Authorization`, and the query parameter, that may carry the caller's key. */
  readonly keyHeaders: readonly string[]
  readonly keyParameter?: string
  /** The headers it reads, in lower case. */
  readonly readsHeaders: readonly string[]
  /** A header other than `x-request-id` in which its clients look for the request id. */
  readonly idHeader?: ResponseHeaderName
  /** The keep-alive bytes of this protocol. */
  readonly heartbeat: string
  readonly listing?: ModelListing
  /** True if this path is the vendor's own, not the specification's substitute; absent if errors do not differ. */
  isVendorPath?(path: string): boolean
  /** The protocol of a path with this open end; undefined if it is this one. */
  protocolAt?(rest: string): Protocol | undefined

  /** Checks the parts of a call outside its body; throws a GatewayError. */
  checkEnvelope(envelope: RequestEnvelope): void
  /** The rules for bodies, checked before the body is read. */
  readonly bodyGuard: BodyGuard
  /** Checks every bound of the specification; throws a GatewayError that names the member at fault. */
  readRequest(body: JsonObject, envelope: RequestEnvelope): RequestSummary
  /** The upstream path of this request, below the base address. */
  upstreamPath(reading: RequestSummary, model: string): string
  /** The members the gateway owns, for this target. */
  requestEdits(reading: RequestSummary, target: RelayTarget): readonly JsonEdit[]
  /** Relays a unary response; undefined if it is not a response of this protocol. */
  relayResponse(text: string, outline: JsonOutline, context: RelayContext): RelayedResponse | undefined
  relayStream(context: RelayContext): StreamRelay

  decodeError(error: UpstreamError): GatewayError
  encodeError(error: GatewayError, context: ErrorContext): Json
}

/** The model list of a protocol. */
export interface ModelListing {
  /** Lists the models that any of these can call. */
  readonly over: readonly ProtocolId[]
  /** The model's name in a path's open end, if that contains more. */
  nameIn?(rest: string): string
  encodeModel(card: ModelCard): Json
  /** The requested page of the list; the whole list if the query requests none. */
  encodeModels(cards: readonly ModelCard[], query: URLSearchParams): Json
}
