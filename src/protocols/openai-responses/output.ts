// The output of an answer as it is written: items one behind the other, and the events that tell of them.
import type { JsonObject } from "../../canonical/json.ts"
import { encodeByteText } from "../../transport/byte-text.ts"
import { asciiJson } from "../../transport/json-splice.ts"
import type { EncodeContext } from "../codec.ts"

/** Takes the events of an answer. */
export interface Wire {
  tell(type: string, members: JsonObject): void
  /** An event that only grows a text, for which `around` was made. */
  grow(around: Around, text: string): void
}

/** An event but for its text and its number: written once for each part. */
export interface Around {
  readonly before: string
  readonly after: string
}

/** Numbers events as they are told, and keeps them until they are taken. */
export class EventWire implements Wire {
  /** Of the next event. */
  sequence = 0
  private frames: string[] = []

  tell(type: string, members: JsonObject): void {
    const rest = JSON.stringify(members).slice(1)
    const data = `{"type":"${type}","sequence_number":${this.sequence++},${rest}`
    this.frames.push(encodeByteText(`event: ${type}\ndata: ${data}\n\n`))
  }

  grow({ before, after }: Around, text: string): void {
    this.frames.push(`${before}${encodeByteText(JSON.stringify(text))}${after}${this.sequence++}}\n\n`)
  }

  take(): string[] {
    const { frames } = this
    this.frames = []
    return frames
  }
}

/** For answers that come whole. */
export const NO_WIRE: Wire = { tell() {}, grow() {} }

export interface Place {
  readonly index: number
  readonly id: string
}

export interface SpokenPlace extends Place {
  readonly content: number
}

/** How an event grows the text at a place. */
export function around(type: string, { index, id }: Place, more: string): Around {
  const place = `"item_id":${asciiJson(id)},"output_index":${index}`
  const isText = type === "response.output_text.delta"
  return {
    before: `event: ${type}\ndata: {"type":"${type}",${place},${more}"delta":`,
    after: `${isText ? ',"logprobs":[]' : ""},"sequence_number":`,
  }
}

export type Status = "completed" | "incomplete"

export class Output {
  readonly items: JsonObject[] = []
  /** Calls of remote servers' tools, by their ids, until what came of them is there. */
  readonly remoteCalls = new Map<string, JsonObject>()
  private places = 0
  /** What is said behind each other stands in one message. */
  private message: { readonly place: Place; readonly content: JsonObject[] } | undefined

  constructor(
    readonly context: EncodeContext,
    readonly wire: Wire,
  ) {}

  /** A place for an item that is no message. */
  place(prefix: string): Place {
    this.endMessage("completed")
    return this.nextPlace(prefix)
  }

  begin({ index }: Place, item: JsonObject): void {
    this.wire.tell("response.output_item.added", { output_index: index, item })
  }

  end({ index }: Place, item: JsonObject): void {
    this.items[index] = item
    this.wire.tell("response.output_item.done", { output_index: index, item })
  }

  /** A place in the message that is being said, which begins where there is none. */
  spokenPlace(): SpokenPlace {
    if (!this.message) {
      const place = this.nextPlace("msg")
      this.message = { place, content: [] }
      const { id } = place
      this.begin(place, { id, type: "message", status: "in_progress", role: "assistant", content: [] })
    }
    const { place, content } = this.message
    return { ...place, content: content.length }
  }

  said(part: JsonObject): void {
    this.message?.content.push(part)
  }

  endMessage(status: Status): void {
    if (!this.message) return
    const { place, content } = this.message
    this.message = undefined
    this.end(place, { id: place.id, type: "message", status, role: "assistant", content })
  }

  private nextPlace(prefix: string): Place {
    const index = this.places++
    return { index, id: `${prefix}_${this.context.id}${index}` }
  }
}
