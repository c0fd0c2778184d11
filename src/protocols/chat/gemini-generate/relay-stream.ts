// Edits the frames of a streamGenerateContent stream in the relay lane: events, or the elements of one JSON array.

import { isObject } from "../../../canonical/json.ts"
import type { Usage } from "../../../canonical/usage.ts"
import { toByteText } from "../../../transport/json/byte-text.ts"
import { outlineJson } from "../../../transport/json/json-scan.ts"
import { asciiJson, asciiOf, type JsonEdit, spliceJson } from "../../../transport/json/json-splice.ts"
import type { MayVary } from "../../../transport/streams/frame-stencil.ts"
import { withData } from "../../../transport/streams/sse.ts"
import type { RelayContext, StreamRelay } from "../../contract.ts"
import { parseData } from "../../parse-event.ts"
import { decodeStream, isIdle } from "./decode/decode-stream.ts"
import { ERROR_PAUSE_MS, errorElement, errorFrame } from "./errors.ts"
import { decodeUsage, encodeUsage } from "./usage.ts"

/** Clients accept a blank line as a keep-alive, between events and between the elements of an array; a comment does not. */
export const heartbeat = "\n"

/** The vendor reports the usage so far in every event; the last one counts. */
const COUNTS = ["candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount", "tokenCount"]
const MAY_VARY: MayVary = new Map([["text", true], ...COUNTS.map((name) => [name, false] as const)])

export function relayStream({ model, reading }: RelayContext): StreamRelay {
  const edits: JsonEdit[] = [{ path: ["modelVersion"], set: asciiJson(model) }]
  return reading.framing === "array" ? arrayRelay(edits, model) : eventRelay(edits, model)
}

/** The chunk with the usage. It has an empty text, because clients print the text of every chunk. */
function usageChunk(usage: Usage, model: string): string {
  const candidates = [{ content: { parts: [{ text: "" }], role: "model" }, index: 0 }]
  return asciiOf({ candidates, usageMetadata: encodeUsage(usage), modelVersion: model })
}

function eventRelay(edits: readonly JsonEdit[], model: string): StreamRelay {
  const unread = new UnreadUsage()
  return {
    ...unread.hooks,
    observer: decodeStream(),
    edit(frame) {
      const { raw, data } = frame
      unread.forget(data)
      // Clients fail on comments.
      if (data === undefined) return raw.trim() === "" ? raw : ""
      return isIdle(data) ? "" : withData(frame, spliceJson(data, edits))
    },
    mayVary: MAY_VARY,
    errorPauseMs: ERROR_PAUSE_MS,
    /** The end of the stream ends the response. */
    terminal: () => "",
    endWithUsage: (end, usage) => (unread.hasReported ? end : `data: ${usageChunk(usage, model)}\r\n\r\n${end}`),
    errorFrame,
  }
}

function arrayRelay(edits: readonly JsonEdit[], model: string): StreamRelay {
  let begun = false
  const border = (): string => {
    const text = begun ? ",\n" : "["
    begun = true
    return text
  }
  const unread = new UnreadUsage()
  return {
    ...unread.hooks,
    observer: decodeStream(),
    edit({ data }) {
      unread.forget(data)
      const outlined = data === undefined ? undefined : outlineJson(data)
      return data === undefined || !outlined ? "" : border() + spliceJson(data, edits, outlined)
    },
    mayVary: MAY_VARY,
    terminal: () => (begun ? "]" : "[]"),
    endWithUsage: (end, usage) => (unread.hasReported ? end : `${border()}${usageChunk(usage, model)}]`),
    errorFrame: (error) => errorElement(error, begun),
  }
}

/** The usage in the last unread event; parsed only if a stream stops there. */
class UnreadUsage {
  /** True if any event has reported usage. */
  hasReported = false
  private last: Uint8Array | undefined
  readonly hooks: Required<Pick<StreamRelay, "passedAlike" | "usageAlike">> = {
    passedAlike: (bytes) => {
      this.last = bytes
    },
    usageAlike: () => this.last && usageIn(toByteText(this.last)),
  }

  /** Called for an event that is read again. */
  forget(data: string | undefined): void {
    this.last = undefined
    this.hasReported ||= data?.includes('"usageMetadata"') === true
  }
}

/** Such an event is on one line, as an event or as an element of the array. */
function usageIn(text: string): Usage | undefined {
  const line = text.trimEnd().split("\n").at(-1) ?? ""
  const chunk = parseData(line.replace(/^(data: ?|,)/, ""))
  return isObject(chunk) ? decodeUsage(chunk.usageMetadata) : undefined
}
