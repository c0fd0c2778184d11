// Parses an event's data, and reports data that cannot be parsed.

import type { StreamEvent } from "../canonical/chat/stream-event.ts"
import { GatewayError } from "../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"
import { decodeByteText } from "../transport/json/byte-text.ts"

/** Parses byte text; undefined if it is not JSON. */
export function parseData(data: string): Json | undefined {
  try {
    return JSON.parse(decodeByteText(data))
  } catch {
    return undefined
  }
}

/** Like `parseData`, for protocols with objects as events. */
export function parseEvent(data: string): JsonObject | undefined {
  const value = parseData(data)
  return isObject(value) ? value : undefined
}

export function brokenEvent(): StreamEvent {
  const message = "The provider sent an event that is not valid JSON."
  return { type: "stream-error", error: new GatewayError("upstream_unavailable", message, { owner: "upstream" }) }
}
