// Writes the output of a response: consecutive items and their events.
import type { JsonObject } from "../../../../canonical/json.ts"
import { encodeByteText } from "../../../../transport/json/byte-text.ts"
import { asciiJson } from "../../../../transport/json/json-splice.ts"
import type { ClientResponseContext } from "../../../chat-codec.ts"

/** Receives the events of a response. */
export interface EventSink {
  emit(type: string, members: JsonObject): void
  /** An event that only extends a text, from the template `around`. */
  grow(around: DeltaTemplate, text: string): void
}

/** An event but for its text and its number: written once for each part. */
export interface DeltaTemplate {
  readonly before: string
  readonly after: string
}

/** Numbers events and buffers them until they are taken. */
export class EventBuffer implements EventSink {
  /** The number of the next event. */
  sequence = 0
  private frames: string[] = []

  emit(type: string, members: JsonObject): void {
    const rest = JSON.stringify(members).slice(1)
    const data = `{"type":"${type}","sequence_number":${this.sequence++},${rest}`
    this.frames.push(encodeByteText(`event: ${type}\ndata: ${data}\n\n`))
  }

  grow({ before, after }: DeltaTemplate, text: string): void {
    this.frames.push(`${before}${encodeByteText(JSON.stringify(text))}${after}${this.sequence++}}\n\n`)
  }

  take(): string[] {
    const { frames } = this
    this.frames = []
    return frames
  }
}

/** For whole responses. */
export const NO_EVENTS: EventSink = { emit() {}, grow() {} }

export interface ItemPosition {
  readonly index: number
  readonly id: string
}

export interface ContentPosition extends ItemPosition {
  readonly content: number
}

/** The parts of a delta event before and after its text. */
export function createDeltaTemplate(type: string, { index, id }: ItemPosition, more: string): DeltaTemplate {
  const place = `"item_id":${asciiJson(id)},"output_index":${index}`
  const isText = type === "response.output_text.delta"
  return {
    before: `event: ${type}\ndata: {"type":"${type}",${place},${more}"delta":`,
    after: `${isText ? ',"logprobs":[]' : ""},"sequence_number":`,
  }
}

export type ItemStatus = "completed" | "incomplete"

export class OutputBuilder {
  readonly items: JsonObject[] = []
  /** Calls of remote servers' tools, by id, until their results arrive. */
  readonly remoteCalls = new Map<string, JsonObject>()
  private places = 0
  /** Consecutive content parts are in one message. */
  private message: { readonly place: ItemPosition; readonly content: JsonObject[] } | undefined

  constructor(
    readonly context: ClientResponseContext,
    readonly wire: EventSink,
  ) {}

  /** The position of an item other than a message. */
  place(prefix: string): ItemPosition {
    this.endMessage("completed")
    return this.nextPlace(prefix)
  }

  begin({ index }: ItemPosition, item: JsonObject): void {
    this.wire.emit("response.output_item.added", { output_index: index, item })
  }

  end({ index }: ItemPosition, item: JsonObject): void {
    this.items[index] = item
    this.wire.emit("response.output_item.done", { output_index: index, item })
  }

  /** The next position in the open message, which is started if there is none. */
  contentPosition(): ContentPosition {
    if (!this.message) {
      const place = this.nextPlace("msg")
      this.message = { place, content: [] }
      const { id } = place
      this.begin(place, { id, type: "message", status: "in_progress", role: "assistant", content: [] })
    }
    const { place, content } = this.message
    return { ...place, content: content.length }
  }

  addContent(part: JsonObject): void {
    this.message?.content.push(part)
  }

  endMessage(status: ItemStatus): void {
    if (!this.message) return
    const { place, content } = this.message
    this.message = undefined
    this.end(place, { id: place.id, type: "message", status, role: "assistant", content })
  }

  private nextPlace(prefix: string): ItemPosition {
    const index = this.places++
    return { index, id: `${prefix}_${this.context.id}${index}` }
  }
}
