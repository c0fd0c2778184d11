// What the lane of images asks of a wire: to say in its own words what is to be drawn, and to read images.
// Codecs are pure: no clock, no chance, no input or output, no log.
import type { GatewayError } from "../canonical/gateway-error.ts"
import type { ImageFates, ImageForm, ImageRequest, ImageResponse } from "../canonical/image.ts"
import type { JsonObject } from "../canonical/json.ts"
import type { Losses } from "../canonical/loss.ts"
import type { UpstreamError } from "./contract.ts"

/** What a client says to us, and what we say back. */
export interface ImageIngress {
  /** Reads a request that `readRequest` has found sound; throws a GatewayError where only some wires could be told it. */
  decodeRequest(body: JsonObject): ImageRequest
  /** Where each setting stands in a request. */
  readonly settingPaths: ImagePaths
  encodeResponse(response: ImageResponse, context: ImageResponseContext): JsonObject
}

export type ImagePaths = { readonly [Name in keyof ImageFates | "count" | "form"]: string }

export interface ImageResponseContext {
  /** How the caller wants them. */
  readonly form: ImageForm | undefined
  /** In seconds. */
  readonly unixTime: number
}

/** What we say to an upstream, and what it says back. */
export interface ImageUpstream {
  /** What is dropped or refused by these is not the encoder's business. */
  readonly fates: ImageFates
  /** How many images a call may ask this model for. */
  mostAtOnce(model: string): number
  /** Whether it can be told to answer with addresses or with bytes; else it answers with what it has. */
  takesForm(model: string): boolean
  operationFor(model: string): ImageOperation
  /** What cannot be said throws a GatewayError. */
  encodeRequest(request: ImageRequest, context: ImageRequestContext): JsonObject
  /** Undefined where it is no answer of this protocol. */
  decodeResponse(body: JsonObject): ImageResponse | undefined
  decodeError(error: UpstreamError): GatewayError
}

export interface ImageRequestContext {
  /** The model's name there. */
  readonly model: string
  /** True if its responses contain text next to images. */
  readonly returnsText: boolean
  readonly losses: Losses
}

interface ImageOperation {
  /** In the wire's own word. */
  readonly operation: string
  /** Below the upstream's base address. */
  readonly path: string
  /** What the wire asks every call to carry. */
  readonly headers: Readonly<Record<string, string>>
}

/** Those there are, by protocol id. */
export interface ImageCodecs {
  readonly ingress: ReadonlyMap<string, ImageIngress>
  readonly upstream: ReadonlyMap<string, ImageUpstream>
}
