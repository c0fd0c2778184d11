// Edits the frames of a responses stream in the relay lane, and keeps the state that an error event needs.
import type { GatewayError } from "../../../canonical/gateway-error.ts"
import { isObject, type JsonObject } from "../../../canonical/json.ts"
import type { Usage } from "../../../canonical/usage.ts"
import { toByteText } from "../../../transport/json/byte-text.ts"
import { findMember, outlineJson } from "../../../transport/json/json-scan.ts"
import { asciiJson, asciiOf, type JsonEdit, spliceJson } from "../../../transport/json/json-splice.ts"
import type { MayVary } from "../../../transport/streams/frame-stencil.ts"
import { type SseFrame, withData } from "../../../transport/streams/sse.ts"
import type { RelayContext, StreamRelay } from "../../contract.ts"
import { parseEvent } from "../../parse-event.ts"
import { decodeStream } from "./decode/decode-stream.ts"
import { errorFrames, freshResponse } from "./errors.ts"
import { echoEdits, storageEdits } from "./relay-response.ts"
import { storageMembers } from "./response-storage.ts"
import { encodeUsage } from "./usage.ts"

/** Clients accept a comment line as a keep-alive. */
export const heartbeat = ": ping\n\n"

const MAY_VARY: MayVary = new Map([
  ["delta", true],
  ["sequence_number", false],
  ["obfuscation", false],
])

export function relayStream(context: RelayContext): StreamRelay {
  return new ResponsesStreamRelay(context)
}

class ResponsesStreamRelay implements StreamRelay {
  readonly observer = decodeStream()
  readonly mayVary = MAY_VARY
  private readonly name: string
  private created: JsonObject | undefined
  private lastData: string | undefined
  /** The last event that brought a response, and its data as it passed. */
  private last: { readonly frame: SseFrame; readonly passed: string } | undefined
  private lastAlike: Uint8Array | undefined

  constructor(private readonly context: RelayContext) {
    this.name = asciiJson(context.model)
  }

  edit(frame: SseFrame): string {
    const { data } = frame
    if (data === undefined) return frame.raw
    // Some hosts end with the marker of chat completions, which is not an event here.
    if (data === "[DONE]") return ""
    this.lastData = data
    this.lastAlike = undefined
    if (!data.includes('"response"')) return frame.raw
    const outlined = outlineJson(data)
    if (!outlined || !findMember(outlined, "response")) return frame.raw
    const stored = storageEdits(this.context.reading.storage, { length: data.length, at: ["response"] })
    const echoed = echoEdits(this.context.reading, data, ["response"])
    const edits: JsonEdit[] = [{ path: ["response", "model"], set: this.name }, ...stored, ...echoed]
    // Clients refuse a stream whose response id changes, as some hosts do with every event.
    if (stored.length === 0 && typeof this.created?.id === "string") {
      edits.push({ path: ["response", "id"], set: asciiJson(this.created.id) })
    }
    const passed = spliceJson(data, edits, outlined)
    this.created ??= responseIn(passed)
    this.last = { frame, passed }
    return withData(frame, passed)
  }

  endWithUsage(end: string, usage: Usage): string {
    if (!this.last) return end
    const { frame, passed } = this.last
    if (isObject(responseIn(passed)?.usage)) return end
    return withData(frame, spliceJson(passed, [{ path: ["response", "usage"], set: asciiOf(encodeUsage(usage)) }]))
  }

  passedAlike(bytes: Uint8Array): void {
    this.lastAlike = bytes
  }

  terminal(): string {
    return ""
  }

  errorFrame(error: GatewayError, { requestId, unixTime }: { requestId: string; unixTime: number }): string {
    const { model, reading } = this.context
    const id = reading.storage?.id ?? `resp_${requestId.replaceAll("-", "")}`
    const fresh = { ...freshResponse(id, model, unixTime), ...storageMembers(reading.storage) }
    return errorFrames(error, { created: this.created, sequence: this.sequence() }, fresh)
  }

  /** The sequence number of the last event, from its bytes. */
  private sequence(): number {
    const text = this.lastAlike ? toByteText(this.lastAlike) : (this.lastData ?? "")
    const [last] = [...text.matchAll(/"sequence_number"\s*:\s*(\d+)/g)].slice(-1)
    return last ? Number(last[1]) : -1
  }
}

function responseIn(data: string): JsonObject | undefined {
  const response = parseEvent(data)?.response
  return isObject(response) ? response : undefined
}
