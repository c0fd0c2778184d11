// Extracts the countable text of requests and responses, for token counts by the gateway.

import type { ChatRequest, OutputFormat, ToolDefinition } from "../../canonical/chat/chat-request.ts"
import type { ChatResponse } from "../../canonical/chat/chat-response.ts"
import type { ContentPart, MediaPart } from "../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { RequestShape } from "../../counting/estimate-tokens.ts"
import { imageSize } from "../../counting/image-size.ts"
import type { MediaItem } from "../../counting/media-tokens.ts"
import { INPUT_MEMBERS, NESTED_INPUT_MEMBERS } from "../../protocols/request-members.ts"

/** What is to be counted: text, and tokens that are known by other means. */
export interface CountableText {
  readonly text: string
  readonly tokens: number
  /** Of a whole request: what its vendor counts in addition to the text. */
  readonly shape?: RequestShape
}

export function textOfRequest({ instructions, turns, tools, settings }: ChatRequest): CountableText {
  const collector = new TextCollector()
  for (const part of instructions) collector.add(part)
  for (const { parts } of turns) for (const part of parts) collector.add(part)
  const { borders, calls, sealed, media } = collector
  const shape: RequestShape = {
    ...{ borders, calls, sealed, media },
    turns: turns.length + (instructions.length > 0 ? 1 : 0),
    tools: tools.length,
    toolText: tools.map(textOfTool).join("\n"),
    format: textOfFormat(settings.format),
  }
  return { text: collector.texts.join(""), tokens: 0, shape }
}

export function textOfResponse({ candidates }: ChatResponse): string {
  const collector = new TextCollector()
  for (const { parts } of candidates) for (const part of parts) collector.add(part)
  return collector.texts.join("\n")
}

/** The text of a request without a conversation: of embeddings or images. */
export function textOfInput(body: JsonObject): CountableText {
  return joinCountables(INPUT_MEMBERS.map((name) => textOfJson(body[name] ?? null)))
}

function textOfJson(value: Json): CountableText {
  if (typeof value === "string") return { text: value, tokens: 0 }
  if (typeof value === "number") return { text: "", tokens: 1 }
  if (Array.isArray(value)) return joinCountables(value.map(textOfJson))
  if (!isObject(value)) return NOTHING
  return joinCountables(NESTED_INPUT_MEMBERS.map((name) => textOfJson(value[name] ?? null)))
}

const NOTHING: CountableText = { text: "", tokens: 0 }

function joinCountables(all: readonly CountableText[]): CountableText {
  return {
    text: all.flatMap(({ text }) => (text === "" ? [] : [text])).join("\n"),
    tokens: all.reduce((sum, { tokens }) => sum + tokens, 0),
  }
}

/** Gathers the parts of a conversation, in their order. */
class TextCollector {
  readonly texts: string[] = []
  /** Where each text ends in all of them. */
  readonly borders: number[] = []
  readonly media: MediaItem[] = []
  calls = 0
  sealed = 0
  private length = 0

  add(part: ContentPart): void {
    if ("sealed" in part) this.sealed += part.sealed?.data.length ?? 0
    switch (part.kind) {
      case "text":
      case "reasoning":
      case "refusal":
        this.addText(part.text)
        break
      case "tool-call":
        this.calls++
        this.addText(`${part.name}\n${part.arguments}`)
        break
      case "tool-result":
        this.calls++
        for (const each of part.parts) this.add(each)
        break
      case "media":
        if (part.source.at === "text") this.addText(part.source.text)
        else this.media.push(mediumOf(part))
        break
      case "foreign":
        this.addText(JSON.stringify(part.value, (_, value) => this.withoutFile(value)))
    }
  }

  private addText(text: string): void {
    if (text === "") return
    this.texts.push(text)
    this.length += text.length
    this.borders.push(this.length)
  }

  /** A file's letters are no words. */
  private withoutFile(value: Json): Json {
    if (typeof value !== "string" || value.length < MIN_FILE_LENGTH || /\s/.test(value.slice(0, MIN_FILE_LENGTH)))
      return value
    this.media.push({ media: "document", bytes: Math.floor((value.length * 3) / 4) })
    return ""
  }
}

const MIN_FILE_LENGTH = 2000

function mediumOf({ media, source, detail }: MediaPart): MediaItem {
  const inline = source.at === "inline" ? source.base64 : undefined
  const size = inline !== undefined && media === "image" ? imageSize(inline) : undefined
  return {
    media,
    ...(size && { size }),
    ...(inline !== undefined && { bytes: Math.floor((inline.length * 3) / 4) }),
    ...(detail === "low" && { isRough: true }),
  }
}

function textOfTool(tool: ToolDefinition): string {
  const { name } = tool
  if (tool.kind === "hosted") return `${name}\n${JSON.stringify(tool.value)}`
  const shape = tool.kind === "function" ? tool.parameters : tool.format
  return [name, tool.description ?? "", isObject(shape) ? JSON.stringify(shape) : ""].join("\n")
}

function textOfFormat(format: OutputFormat | undefined): string {
  return format?.kind === "schema" ? `${format.name ?? ""}\n${JSON.stringify(format.schema)}` : ""
}
