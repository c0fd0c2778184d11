// Framing of streamed events: as server-sent events, or as the elements of one array.
import type { JsonObject } from "../../canonical/json.ts"
import { encodeSse } from "../../transport/streams/sse.ts"

export interface EventFraming {
  readonly contentType: string
  frame(event: JsonObject, index: number): string
  /** The frame after the last of `count` events. */
  last(count: number): string | undefined
}

export const EVENTS: EventFraming = {
  contentType: "text/event-stream",
  frame: (event) => encodeSse({ data: JSON.stringify(event) }),
  last: () => undefined,
}

/** Server-sent events with their type on the `event:` line. */
export const NAMED_EVENTS: EventFraming = {
  ...EVENTS,
  frame: (event) => encodeSse({ event: String(event.type), data: JSON.stringify(event) }),
}

export const EVENTS_UNTIL_DONE: EventFraming = { ...EVENTS, last: () => encodeSse({ data: "[DONE]" }) }

export const ARRAY: EventFraming = {
  contentType: "application/json; charset=UTF-8",
  frame: (event, index) => (index === 0 ? "[" : ",\r\n") + JSON.stringify(event),
  last: (count) => (count === 0 ? "[]" : "\n]\n"),
}

/** Yields one item of each row in turn until all have ended, as several candidates arrive in one stream. */
export function* interleave<Item>(rows: readonly Generator<Item>[]): Generator<Item> {
  let running = rows
  while (running.length > 0) {
    const still: Generator<Item>[] = []
    for (const row of running) {
      const { done, value } = row.next()
      if (done) continue
      yield value
      still.push(row)
    }
    running = still
  }
}
