// Vendor-neutral embedding requests and their vectors.

import type { Json } from "./json.ts"
import type { PassthroughFields } from "./passthrough-fields.ts"
import type { FateEntry } from "./setting-fates.ts"
import type { Usage } from "./usage.ts"

export interface EmbeddingRequest {
  readonly inputs: readonly EmbeddingInput[]
  readonly endUser?: string
  readonly extra?: PassthroughFields
}

/** The input of one vector. */
export interface EmbeddingInput {
  readonly content: EmbeddingContent
  readonly title?: string
  readonly dimensions?: number
  readonly task?: EmbeddingTask
  readonly extra?: PassthroughFields
}

export type EmbeddingContent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "tokens"; readonly tokens: readonly number[] }
  /** Several parts, or images and audio, in Google's form. */
  | { readonly kind: "parts"; readonly parts: readonly Json[] }

/** The intended use of the vectors. */
export type EmbeddingTask =
  | "query"
  | "document"
  | "similarity"
  | "classification"
  | "clustering"
  | "question"
  | "fact"
  | "code-query"

/** Inputs for one upstream call, with the same settings. */
export interface EmbeddingBatch {
  readonly inputs: readonly EmbeddingInput[]
  readonly settings: EmbeddingSettings
  readonly extra?: PassthroughFields
}

export interface EmbeddingSettings {
  readonly dimensions?: number
  readonly task?: EmbeddingTask
  /** True if an input has a title. */
  readonly title?: true
  readonly endUser?: string
}

export type EmbeddingFates = { readonly [Name in keyof Required<EmbeddingSettings>]: FateEntry }

export interface EmbeddingResponse {
  /** One for each input, in their order. */
  readonly vectors: readonly EmbeddingVector[]
  readonly usage?: Usage
}

/** Numbers as they were written, or base64 of 32-bit floats, the lowest byte first. */
export type EmbeddingVector = readonly number[] | string

const FLOAT_BYTES = 4

export function floatsOf(vector: EmbeddingVector): readonly number[] {
  return typeof vector === "string" ? floatsIn(Buffer.from(vector, "base64")) : vector
}

function floatsIn(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / FLOAT_BYTES }, (_, index) => bytes.readFloatLE(index * FLOAT_BYTES))
}

/** No model's vector has a greater number; one-byte integers read as floats do. */
const MAX_MAGNITUDE = 1e9

function areFloats(bytes: Buffer): boolean {
  return bytes.length % FLOAT_BYTES === 0 && floatsIn(bytes).every((each) => Math.abs(each) < MAX_MAGNITUDE)
}

export function base64Of(vector: EmbeddingVector): string {
  if (typeof vector === "string") return vector
  const bytes = Buffer.allocUnsafe(vector.length * FLOAT_BYTES)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * FLOAT_BYTES)
  return bytes.toString("base64")
}

/** A vector in wire form; undefined if it is not one. */
export function vectorIn(value: Json | undefined): EmbeddingVector | undefined {
  if (typeof value === "string") {
    if (!BASE64.test(value)) return undefined
    const bytes = Buffer.from(value, "base64")
    if (areFloats(bytes)) return value
    // Some hosts send integers of one byte each.
    return value.length % 4 === 0 ? [...new Int8Array(bytes)] : undefined
  }
  const isVector = Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === "number")
  return isVector ? (value as readonly number[]) : undefined
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** All vectors; undefined if one is invalid or there are none. */
export function vectorsIn(values: readonly (Json | undefined)[]): EmbeddingVector[] | undefined {
  const vectors: EmbeddingVector[] = []
  for (const value of values) {
    const vector = vectorIn(value)
    if (vector === undefined) return undefined
    vectors.push(vector)
  }
  return vectors.length > 0 ? vectors : undefined
}
