// The contract between the embedding lane and a wire format: encoding requests and decoding vectors. Codecs are pure:
// no clock, no randomness, no I/O, no log.
import type { EmbeddingBatch, EmbeddingFates, EmbeddingRequest, EmbeddingResponse } from "../canonical/embedding.ts"
import type { GatewayError } from "../canonical/gateway-error.ts"
import type { JsonObject } from "../canonical/json.ts"
import type { Losses } from "../canonical/loss.ts"
import type { RequestEnvelope, UpstreamError } from "./contract.ts"

/** The client half: decodes requests, encodes responses. */
export interface EmbeddingIngress {
  /** Decodes a request that `readRequest` has accepted. */
  decodeRequest(body: JsonObject, envelope: RequestEnvelope): EmbeddingRequest
  /** The path of each setting in a request of this operation. */
  settingPaths(operation: string): EmbeddingPaths
  encodeResponse(response: EmbeddingResponse, context: EmbeddingResponseContext): JsonObject
}

export type EmbeddingPaths = { readonly [Name in keyof EmbeddingFates | "input"]?: string }

interface EmbeddingResponseContext {
  /** The `<provider>/<model-name>` that the caller sees. */
  readonly model: string
  /** The operation's name in the protocol. */
  readonly operation: string
}

/** The provider half: encodes requests, decodes responses. */
export interface EmbeddingUpstream {
  /** Settings that are dropped or refused by these do not reach the encoder. */
  readonly fates: EmbeddingFates
  operationFor(model: string): EmbeddingOperation
  /** Throws a GatewayError if the request cannot be expressed. */
  encodeRequest(batch: EmbeddingBatch, context: { readonly model: string; readonly losses: Losses }): JsonObject
  /** Undefined if it is not a response of this protocol. */
  decodeResponse(body: JsonObject): EmbeddingResponse | undefined
  decodeError(error: UpstreamError): GatewayError
}

interface EmbeddingOperation {
  /** The operation's name on the wire. */
  readonly operation: string
  /** Below the upstream's base address. */
  readonly path: string
  /** Headers of every call. */
  readonly headers: Readonly<Record<string, string>>
}

/** All codecs, by protocol id. */
export interface EmbeddingCodecs {
  readonly ingress: ReadonlyMap<string, EmbeddingIngress>
  readonly upstream: ReadonlyMap<string, EmbeddingUpstream>
}
