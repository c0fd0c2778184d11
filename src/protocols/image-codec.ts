// The contract between the image lane and a wire format: encoding requests and decoding images. Codecs are pure: no
// clock, no randomness, no I/O, no log.
import type { GatewayError } from "../canonical/gateway-error.ts"
import type { ImageFates, ImageForm, ImageRequest, ImageResponse } from "../canonical/image.ts"
import type { JsonObject } from "../canonical/json.ts"
import type { Losses } from "../canonical/loss.ts"
import type { UpstreamError } from "./contract.ts"

/** The client half: decodes requests, encodes responses. */
export interface ImageIngress {
  /** Decodes a request that `readRequest` has accepted; throws a GatewayError if only some wires could express it. */
  decodeRequest(body: JsonObject): ImageRequest
  /** The path of each setting in a request. */
  readonly settingPaths: ImagePaths
  encodeResponse(response: ImageResponse, context: ImageResponseContext): JsonObject
}

export type ImagePaths = { readonly [Name in keyof ImageFates | "count" | "form"]: string }

export interface ImageResponseContext {
  /** The requested form of the images. */
  readonly form: ImageForm | undefined
  /** In seconds. */
  readonly unixTime: number
}

/** The provider half: encodes requests, decodes responses. */
export interface ImageUpstream {
  /** Settings that are dropped or refused by these do not reach the encoder. */
  readonly fates: ImageFates
  /** The most images per call of this model. */
  mostAtOnce(model: string): number
  /** True if the request can choose between URLs and bytes; otherwise the host decides. */
  takesForm(model: string): boolean
  operationFor(model: string): ImageOperation
  /** Throws a GatewayError if the request cannot be expressed. */
  encodeRequest(request: ImageRequest, context: ImageRequestContext): JsonObject
  /** Undefined if it is not a response of this protocol. */
  decodeResponse(body: JsonObject): ImageResponse | undefined
  decodeError(error: UpstreamError): GatewayError
}

export interface ImageRequestContext {
  /** The model's name at the upstream. */
  readonly model: string
  /** True if its responses contain text next to images. */
  readonly returnsText: boolean
  readonly losses: Losses
}

interface ImageOperation {
  /** The operation's name on the wire. */
  readonly operation: string
  /** Below the upstream's base address. */
  readonly path: string
  /** Headers of every call. */
  readonly headers: Readonly<Record<string, string>>
}

/** All codecs, by protocol id. */
export interface ImageCodecs {
  readonly ingress: ReadonlyMap<string, ImageIngress>
  readonly upstream: ReadonlyMap<string, ImageUpstream>
}
