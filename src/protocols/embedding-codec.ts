// What the lane of embeddings asks of a wire: to say in its own words what is to be embedded, and to read vectors.
// Codecs are pure: no clock, no chance, no input or output, no log.
import type { EmbeddingBatch, EmbeddingFates, EmbeddingRequest, EmbeddingResponse } from "../canonical/embedding.ts"
import type { GatewayError } from "../canonical/gateway-error.ts"
import type { JsonObject } from "../canonical/json.ts"
import type { Losses } from "../canonical/loss.ts"
import type { RequestEnvelope, UpstreamError } from "./contract.ts"

/** What a client says to us, and what we say back. */
export interface EmbeddingIngress {
  /** Reads a request that `readRequest` has found sound. */
  decodeRequest(body: JsonObject, envelope: RequestEnvelope): EmbeddingRequest
  /** Where what is said stands in a request of this operation. */
  settingPaths(operation: string): EmbeddingPaths
  encodeResponse(response: EmbeddingResponse, context: EmbeddingResponseContext): JsonObject
}

export type EmbeddingPaths = { readonly [Name in keyof EmbeddingFates | "input"]?: string }

interface EmbeddingResponseContext {
  /** The `<provider>/<model-name>` the caller shall read. */
  readonly model: string
  /** In the protocol's own word. */
  readonly operation: string
}

/** What we say to an upstream, and what it says back. */
export interface EmbeddingUpstream {
  /** What is dropped or refused by these is not the encoder's business. */
  readonly fates: EmbeddingFates
  operationFor(model: string): EmbeddingOperation
  /** What cannot be said throws a GatewayError. */
  encodeRequest(batch: EmbeddingBatch, context: { readonly model: string; readonly losses: Losses }): JsonObject
  /** Undefined where it is no answer of this protocol. */
  decodeResponse(body: JsonObject): EmbeddingResponse | undefined
  decodeError(error: UpstreamError): GatewayError
}

interface EmbeddingOperation {
  /** In the wire's own word. */
  readonly operation: string
  /** Below the upstream's base address. */
  readonly path: string
  /** What the wire asks every call to carry. */
  readonly headers: Readonly<Record<string, string>>
}

/** Those there are, by protocol id. */
export interface EmbeddingCodecs {
  readonly ingress: ReadonlyMap<string, EmbeddingIngress>
  readonly upstream: ReadonlyMap<string, EmbeddingUpstream>
}
