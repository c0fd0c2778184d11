// Server-sent events, both ways, on byte text. A frame keeps its raw text, so that what is not edited passes as it came.
import type { StreamStep } from "./stream-step.ts"

export interface SseFrame {
  /** Everything the frame came in, its closing blank line included. */
  readonly raw: string
  readonly event: string | undefined
  /** The `data` lines joined by newlines; undefined for comments and blank lines. */
  readonly data: string | undefined
  /** The position of the data in `raw`; -1 where it spans several lines. */
  readonly dataStart: number
}

export class SseLimitError extends Error {
  override readonly name = "SseLimitError"
}

/** An event of this size is no event; what does not end by then is refused instead of buffered on. */
const MAX_FRAME_LENGTH = 16 * 1024 * 1024
/** Most events have one or two. */
const MAX_LINES = 16_384

/** Two line ends in a row, each of them LF, CR or CRLF; not yet where a CR is the last byte, which an LF may follow. */
const BLANK_LINE = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?=[^\n]))/g
const ENDS_BLANK = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))$/
const LINE_END = /\r\n|\n|\r/
const BYTE_ORDER_MARK = "\xef\xbb\xbf"

interface SseDecoder extends StreamStep<string, SseFrame> {
  /** Whether nothing of an unfinished frame is waiting for its end. */
  isEmpty(): boolean
}

/** Cuts byte text, in pieces of any size, into frames. */
export function decodeSse(maxFrameLength = MAX_FRAME_LENGTH): SseDecoder {
  // Pieces are joined only when a frame ends, so that a large frame in many pieces is not copied for each of them.
  let pieces: string[] = []
  let length = 0
  let tail = ""
  let first = true

  const frame = (raw: string): SseFrame => {
    const marked = first && raw.startsWith(BYTE_ORDER_MARK)
    first = false
    return parseFrame(raw, marked ? BYTE_ORDER_MARK.length : 0)
  }
  const quietFrame = (raw: string): SseFrame => {
    first = false
    return { raw, event: undefined, data: undefined, dataStart: -1 }
  }

  return {
    isEmpty: () => length === 0,
    push(piece) {
      if (piece === "") return []
      // Most pieces are one whole frame.
      if (length === 0 && isOneFrame(piece)) return [frame(piece)]
      pieces.push(piece)
      length += piece.length
      const frames: SseFrame[] = []
      if (hasBlankLine(tail + piece)) {
        const text = pieces.length === 1 ? piece : pieces.join("")
        const rest = cutFrames(text, (raw, isQuiet) => frames.push(isQuiet ? quietFrame(raw) : frame(raw)))
        pieces = rest === "" ? [] : [rest]
        length = rest.length
      }
      if (length > maxFrameLength) throw new SseLimitError(`an event exceeds ${maxFrameLength} bytes`)
      // Two line ends are at most four characters, so three of the last piece may belong to the next border.
      tail = length === 0 ? "" : (tail + piece).slice(-Math.min(3, length))
      return frames
    },
    /** A stream may end without its last blank line; the last event still counts. */
    finish() {
      const rest = pieces.join("")
      pieces = []
      if (rest.trim() === "") return []
      return [frame(ENDS_BLANK.test(rest) ? rest : `${rest}\n\n`)]
    },
  }
}

function isOneFrame(piece: string): boolean {
  return piece.length > 2 && piece.indexOf("\n\n") === piece.length - 2 && !piece.includes("\r")
}

function hasBlankLine(text: string): boolean {
  if (text.includes("\n\n")) return true
  if (!text.includes("\r")) return false
  BLANK_LINE.lastIndex = 0
  return BLANK_LINE.test(text)
}

/** Hands out each complete frame's raw text, those in a row that say nothing as one; returns what is left. */
function cutFrames(text: string, take: (raw: string, isQuiet: boolean) => void): string {
  const hasReturns = text.includes("\r")
  let from = 0
  for (;;) {
    const quiet = quietEnd(text, from)
    if (quiet > from) take(text.slice(from, quiet), true)
    const end = hasReturns ? anyFrameEnd(text, quiet) : plainFrameEnd(text, quiet)
    if (end > 0) take(text.slice(quiet, end), false)
    from = end > 0 ? end : quiet
    if (end < 0) return from === 0 ? text : text.slice(from)
  }
}

/** The place behind the frame's blank line; -1 where there is none yet. */
function plainFrameEnd(text: string, from: number): number {
  const end = text.indexOf("\n\n", from)
  return end < 0 ? -1 : end + 2
}

function anyFrameEnd(text: string, from: number): number {
  BLANK_LINE.lastIndex = from
  return BLANK_LINE.test(text) ? BLANK_LINE.lastIndex : -1
}

const LF = 0x0a
const CR = 0x0d
/** What lines begin with that are comments, or fields without data: `event`, `id`, `retry`. */
const QUIET_STARTS: ReadonlySet<number> = new Set(Buffer.from(":eir"))

/**
 * The place behind those frames from here on that hold nothing but such lines. A host may send hundreds of thousands of
 * them in one read, and to look at each as a frame would take a microsecond.
 */
function quietEnd(text: string, from: number): number {
  let end = from
  let lineEnds = 0
  for (let at = from; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (code === LF || code === CR) {
      // An LF may follow a CR that is the last so far.
      if (code === CR && at + 1 === text.length) return end
      at += code === CR && text.charCodeAt(at + 1) === LF ? 2 : 1
      if (++lineEnds < 2) continue
      end = at
      lineEnds = 0
    } else if (QUIET_STARTS.has(code)) {
      lineEnds = 0
      do at++
      while (at < text.length && text.charCodeAt(at) !== LF && text.charCodeAt(at) !== CR)
    } else return end
  }
  return end
}

function parseFrame(raw: string, offset: number): SseFrame {
  if (raw.startsWith("data: ", offset) && raw.indexOf("\n", offset) === raw.length - 2 && !raw.includes("\r")) {
    return { raw, event: undefined, data: raw.slice(offset + 6, -2), dataStart: offset + 6 }
  }
  let event: string | undefined
  let data: string | undefined
  let dataStart = -1
  let count = 0
  for (const { line, start } of lines(raw, offset)) {
    if (++count > MAX_LINES) throw new SseLimitError(`an event has more than ${MAX_LINES} lines`)
    const colon = line.indexOf(":")
    const name = colon < 0 ? line : line.slice(0, colon)
    if (name !== "event" && name !== "data") continue
    const valueAt = colon < 0 ? line.length : line[colon + 1] === " " ? colon + 2 : colon + 1
    const value = line.slice(valueAt)
    if (name === "event") event = value
    else {
      dataStart = data === undefined ? start + valueAt : -1
      data = data === undefined ? value : `${data}\n${value}`
    }
  }
  return { raw, event, data, dataStart }
}

function* lines(raw: string, offset: number): Generator<{ line: string; start: number }> {
  let start = offset
  while (start < raw.length) {
    const end = raw.slice(start).search(LINE_END)
    const line = end < 0 ? raw.slice(start) : raw.slice(start, start + end)
    yield { line, start }
    start += line.length + (raw.startsWith("\r\n", start + line.length) ? 2 : 1)
  }
}

/** The frame's raw text with other data; its other lines stay as they are. */
export function withData(frame: SseFrame, data: string): string {
  const { raw, dataStart } = frame
  if (frame.data === undefined || frame.data === data) return raw
  if (dataStart >= 0) return raw.slice(0, dataStart) + data + raw.slice(dataStart + frame.data.length)
  const mark = raw.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : ""
  const lines = raw.slice(mark.length).split(LINE_END)
  const others = lines.filter((line) => line !== "" && !/^data(:|$)/.test(line))
  return `${mark}${[...others, dataLines(data)].join("\n")}\n\n`
}

export function encodeSse({ event, data }: { event?: string; data: string }): string {
  return `${event === undefined ? "" : `event: ${event}\n`}${dataLines(data)}\n\n`
}

function dataLines(data: string): string {
  return data
    .split(LINE_END)
    .map((line) => `data: ${line}`)
    .join("\n")
}
