// Citations, both ways: `groundingMetadata` and `citationMetadata`, with spans in bytes.

import type { Citation } from "../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"

/** A citation with a span in bytes of the candidate's whole visible text. */
export interface CitedSpan {
  readonly citation: Citation
  readonly startByte?: number
  readonly endByte?: number
}

export function citationsIn({ groundingMetadata, citationMetadata }: JsonObject): CitedSpan[] {
  const cited: CitedSpan[] = []
  if (isObject(groundingMetadata)) cited.push(...groundings(groundingMetadata))
  if (isObject(citationMetadata)) cited.push(...recitations(citationMetadata))
  return cited
}

function groundings({ groundingChunks, groundingSupports }: JsonObject): CitedSpan[] {
  const sources = objects(groundingChunks).map(sourceOf)
  const supports = objects(groundingSupports)
  if (supports.length === 0) return sources.flatMap((citation) => (citation ? [{ citation }] : []))
  return supports.flatMap(({ segment, groundingChunkIndices }) => {
    const cited = Array.isArray(groundingChunkIndices) ? groundingChunkIndices : []
    return cited.flatMap((index: Json) => {
      const citation = typeof index === "number" ? sources[index] : undefined
      return citation ? [{ citation, ...spanOf(isObject(segment) ? segment : {}) }] : []
    })
  })
}

function sourceOf(chunk: JsonObject): Citation | undefined {
  const source = [chunk.web, chunk.retrievedContext, chunk.maps, chunk.image].find(isObject)
  if (!source) return undefined
  const url = source.uri ?? source.sourceUri ?? source.imageUri
  return {
    ...(typeof url === "string" && { url }),
    ...(typeof source.title === "string" && { title: source.title }),
    ...(typeof source.text === "string" && { quote: source.text }),
  }
}

function recitations({ citations, citationSources }: JsonObject): CitedSpan[] {
  return [...objects(citations), ...objects(citationSources)].map((source) => ({
    citation: {
      ...(typeof source.uri === "string" && { url: source.uri }),
      ...(typeof source.title === "string" && source.title !== "" && { title: source.title }),
    },
    ...spanOf(source),
  }))
}

/** A start of 0 is left out on this wire. */
function spanOf({ startIndex = 0, endIndex }: JsonObject): Omit<CitedSpan, "citation"> {
  if (typeof startIndex !== "number" || typeof endIndex !== "number" || startIndex > endIndex) return {}
  return { startByte: startIndex, endByte: endIndex }
}

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** Gathers the citations of one candidate as they come, and writes them as the vendor does. */
export class GroundingEncoder {
  private readonly sources = new Map<string, number>()
  private readonly chunks: JsonObject[] = []
  private readonly supports: JsonObject[] = []

  /** `before` is the visible text before the part, `text` the part's own. */
  add({ url, title, quote, start, end }: Citation, { before, text }: { before: string; text: string }): void {
    const web = { ...(url !== undefined && { uri: url }), ...(title !== undefined && { title }) }
    const chunk: JsonObject =
      url === undefined && quote !== undefined
        ? { retrievedContext: { ...(title !== undefined && { title }), text: quote } }
        : { web }
    const index = this.source(chunk)
    if (start === undefined || end === undefined) return
    const offset = Buffer.byteLength(before)
    const startIndex = offset + Buffer.byteLength(text.slice(0, start))
    const endIndex = offset + Buffer.byteLength(text.slice(0, end))
    const segment = { startIndex, endIndex, text: text.slice(start, end) }
    this.supports.push({ segment, groundingChunkIndices: [index] })
  }

  metadata(): JsonObject | undefined {
    if (this.chunks.length === 0) return undefined
    return { groundingChunks: this.chunks, ...(this.supports.length > 0 && { groundingSupports: this.supports }) }
  }

  private source(chunk: JsonObject): number {
    const key = JSON.stringify(chunk)
    const known = this.sources.get(key)
    if (known !== undefined) return known
    this.sources.set(key, this.chunks.length)
    return this.chunks.push(chunk) - 1
  }
}
