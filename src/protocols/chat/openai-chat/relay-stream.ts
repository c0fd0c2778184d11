// Edits the frames of a chat completions stream in the relay lane.
import type { Usage } from "../../../canonical/usage.ts"
import { findMember, type JsonMember, outlineJson } from "../../../transport/json/json-scan.ts"
import { asciiJson, asciiOf, type JsonEdit, spliceJson } from "../../../transport/json/json-splice.ts"
import type { MayVary } from "../../../transport/streams/frame-stencil.ts"
import { type SseFrame, withData } from "../../../transport/streams/sse.ts"
import type { RelayContext, StreamRelay } from "../../contract.ts"
import { parseEvent } from "../../parse-event.ts"
import { DONE, decodeStream } from "./decode/decode-stream.ts"
import { errorFrame } from "./errors.ts"
import { ChunkRepairer } from "./repair-chunk.ts"
import { encodeUsage } from "./usage.ts"

/** Clients accept a comment line as a keep-alive. */
export const heartbeat = ": ping\n\n"

export function relayStream(context: RelayContext): StreamRelay {
  const edit = editFrame(context)
  const { usageRequested } = context.reading
  let last = ""
  let hasReported = false
  return {
    observer: decodeStream(),
    edit(frame) {
      if (usageRequested && frame.data !== undefined && frame.data !== DONE) {
        last = frame.data
        hasReported ||= USAGE.test(last)
      }
      return edit(frame)
    },
    mayVary: MAY_VARY,
    terminal: () => `data: ${DONE}\n\n`,
    endWithUsage: (end, usage) => (usageRequested && !hasReported ? usageChunk(last, usage, context) + end : end),
    errorFrame,
  }
}

/** The usage chunk, if requested: like the chunk before it, without choices. */
function usageChunk(last: string, usage: Usage, { model }: RelayContext): string {
  const { id = "", created = 0 } = parseEvent(last) ?? {}
  const chunk = { id, object: "chat.completion.chunk", created, model, choices: [], usage: encodeUsage(usage) }
  return `data: ${asciiOf(chunk)}\n\n`
}

/** Within a string the quotes would be escaped. */
const USAGE = /"usage"\s*:\s*\{/

const MAY_VARY: MayVary = new Map([
  ["content", true],
  ["reasoning_content", true],
  ["reasoning", true],
  ["arguments", true],
  ["obfuscation", false],
])

function editFrame({ model, reading: { usageRequested } }: RelayContext): (frame: SseFrame) => string {
  const name = asciiJson(model)
  const rename = createModelRenamer(name)
  const repairer = new ChunkRepairer()
  return (arrived) => {
    if (arrived.data === undefined || arrived.data === DONE) return arrived.raw
    const frame = withFrameData(arrived, repairer.repair(arrived.data))
    const { raw, data = "" } = frame
    const quick = usageRequested || !raw.includes('"usage"') ? rename.quickly(raw) : undefined
    if (quick !== undefined) return quick
    const outlined = outlineJson(data)
    if (!outlined) return raw
    const named = findMember(outlined, "model")
    if (named) rename.remember(frame, named)
    const edits: JsonEdit[] = named ? [{ path: ["model"], set: name }] : []
    const usage = usageRequested ? undefined : findMember(outlined, "usage")
    if (usage) {
      const choices = findMember(outlined, "choices")
      const empty = choices && /^\[\s*\]$/.test(data.slice(choices.valueStart, choices.end))
      if (empty && data.slice(usage.valueStart, usage.end) !== "null") return ""
      edits.push(HIDE_USAGE)
    }
    return withData(frame, spliceJson(data, edits, outlined))
  }
}

function withFrameData(frame: SseFrame, data: string): SseFrame {
  return data === frame.data ? frame : { ...frame, raw: withData(frame, data), data }
}

const HIDE_USAGE: JsonEdit = { path: ["usage"], remove: true }

/**
 * The events of a stream have the same beginning, up to the model's name. An event with the same beginning as the last
 * one needs no scan: everything before the same closing quote has the same structure.
 */
function createModelRenamer(name: string) {
  let before = ""
  let after = ""
  return {
    remember({ raw, data = "", dataStart }: SseFrame, { valueStart, end }: JsonMember): void {
      const isPlain = dataStart >= 0 && data.charCodeAt(valueStart) === QUOTE
      before = isPlain ? raw.slice(0, dataStart + end) : ""
      after = isPlain ? raw.slice(0, dataStart + valueStart) + name : ""
    },
    quickly(raw: string): string | undefined {
      return before !== "" && raw.startsWith(before) ? after + raw.slice(before.length) : undefined
    },
  }
}

const QUOTE = 0x22
