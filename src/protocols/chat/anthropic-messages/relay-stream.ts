// Edits the frames of a messages stream in the relay lane.

import { isObject } from "../../../canonical/json.ts"
import { asciiJson, asciiOf, type JsonEdit, spliceJson } from "../../../transport/json/json-splice.ts"
import type { MayVary } from "../../../transport/streams/frame-stencil.ts"
import { type SseFrame, withData } from "../../../transport/streams/sse.ts"
import type { RelayContext, StreamRelay } from "../../contract.ts"
import { parseEvent } from "../../parse-event.ts"
import { decodeStream } from "./decode/decode-stream.ts"
import { errorFrame } from "./errors.ts"
import { encodeClosingUsage, encodeOpeningUsage } from "./usage.ts"

/** The protocol has an event for it. */
export const heartbeat = 'event: ping\ndata: {"type": "ping"}\n\n'

const MAY_VARY: MayVary = new Map(["text", "thinking", "partial_json"].map((name) => [name, true]))

export function relayStream({ model }: RelayContext): StreamRelay {
  const name = asciiJson(model)
  let opened = false
  /** An event that should contain the usage but does not, held back until the end. */
  let closing: SseFrame | undefined
  const closed = (): string => closing?.raw ?? ""
  return {
    observer: decodeStream(),
    /** Only the first event names the model. Some hosts send it twice, which clients refuse. */
    edit(frame) {
      const { data, raw } = frame
      if (data !== undefined && lacksUsage(data)) {
        const before = closed()
        closing = frame
        return before
      }
      if (data === undefined || !isEvent(data, "message_start"))
        return isEvent(data, "message_stop") ? closed() + raw : raw
      if (opened) return ""
      opened = true
      return withData(frame, spliceJson(data, [{ path: ["message", "model"], set: name }, ...openingUsage(data)]))
    },
    mayVary: MAY_VARY,
    terminal: () => `${closed()}event: message_stop\ndata: {"type":"message_stop"}\n\n`,
    endWithUsage(end, usage) {
      if (!closing?.data) return end
      const counted = asciiOf(encodeClosingUsage(usage))
      return (
        withData(closing, spliceJson(closing.data, [{ path: ["usage"], set: counted }])) + end.slice(closing.raw.length)
      )
    },
    errorFrame,
  }
}

/** The type's name may also occur inside a text. */
function isEvent(data: string | undefined, type: string): boolean {
  return data?.includes(`"${type}"`) === true && parseEvent(data)?.type === type
}

function lacksUsage(data: string): boolean {
  if (!data.includes('"message_delta"') || data.includes('"usage"')) return false
  const { type, delta } = parseEvent(data) ?? {}
  return type === "message_delta" && isObject(delta) && typeof delta.stop_reason === "string"
}

/** Clients add later counts to those of the first event, and fail if it has none. */
function openingUsage(data: string): JsonEdit[] {
  if (data.includes('"usage"')) return NO_EDITS
  return [{ path: ["message", "usage"], set: asciiOf(encodeOpeningUsage({})) }]
}

const NO_EDITS: JsonEdit[] = []
