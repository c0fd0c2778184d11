// Vendor-neutral image requests and their images.
import type { PassthroughFields } from "./passthrough-fields.ts"
import type { FateEntry } from "./setting-fates.ts"
import type { Usage } from "./usage.ts"

export interface ImageRequest {
  readonly prompt: string
  /** Number of images. */
  readonly count: number
  /** The form of the images; absent if the caller accepts either. */
  readonly form?: ImageForm
  readonly settings: ImageSettings
  readonly extra?: PassthroughFields
}

export type ImageForm = "url" | "bytes"

export interface ImageSettings {
  readonly size?: ImageSize
  readonly quality?: string
  readonly format?: ImageFormat
  /** In percent. */
  readonly compression?: number
  readonly background?: "transparent" | "opaque"
  readonly endUser?: string
}

/** In pixels. */
export interface ImageSize {
  readonly width: number
  readonly height: number
}

export type ImageFormat = "png" | "jpeg" | "webp"

export type ImageFates = { readonly [Name in keyof Required<ImageSettings>]: FateEntry }

export interface ImageResponse {
  readonly images: readonly DrawnImage[]
  readonly usage?: Usage
  /** Some are not there because of a policy on contents. */
  readonly isFiltered?: boolean
  readonly extra?: PassthroughFields
}

export interface DrawnImage {
  readonly source: ImageSource
  /** The prompt as revised by the provider, if it differs. */
  readonly revisedPrompt?: string
}

export type ImageSource =
  | { readonly at: "inline"; readonly mediaType: string; readonly base64: string }
  | { readonly at: "url"; readonly url: string }

/** Inline bytes; if the wire names no media type, the first bytes decide. */
export function inlineImage(base64: string, mediaType?: string): ImageSource {
  return { at: "inline", mediaType: mediaType ?? mediaTypeOf(base64), base64 }
}

const BEGINNINGS: readonly (readonly [string, string])[] = [
  ["/9j/", "image/jpeg"],
  ["UklGR", "image/webp"],
  ["R0lGOD", "image/gif"],
]

function mediaTypeOf(base64: string): string {
  return BEGINNINGS.find(([beginning]) => base64.startsWith(beginning))?.[1] ?? "image/png"
}

/** The image at an address; a data URL becomes its bytes. */
export function imageAt(url: string): ImageSource {
  const comma = url.indexOf(",")
  const [, mediaType] = /^data:([^;,]*)(?:;[^,]*)?;base64$/i.exec(url.slice(0, Math.max(0, comma))) ?? []
  if (mediaType === undefined) return { at: "url", url }
  return inlineImage(url.slice(comma + 1), mediaType === "" ? undefined : mediaType)
}

/** The address of an image, or a data URL with its bytes. */
export function addressOf(source: ImageSource): string {
  return source.at === "url" ? source.url : `data:${source.mediaType};base64,${source.base64}`
}
