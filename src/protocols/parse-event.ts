// The data of an event, read; and what an observer says of data that cannot be.

import type { StreamEvent } from "../canonical/chat/stream-event.ts"
import { GatewayError } from "../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"
import { decodeByteText } from "../transport/json/byte-text.ts"

/** What stands in byte text; undefined where it is no JSON. */
export function parseData(data: string): Json | undefined {
  try {
    return JSON.parse(decodeByteText(data))
  } catch {
    return undefined
  }
}

/** As `parseData`, of protocols whose events are objects. */
export function parseEvent(data: string): JsonObject | undefined {
  const value = parseData(data)
  return isObject(value) ? value : undefined
}

export function brokenEvent(): StreamEvent {
  const message = "The provider sent an event that is not valid JSON."
  return { type: "stream-error", error: new GatewayError("upstream_unavailable", message, { owner: "upstream" }) }
}
