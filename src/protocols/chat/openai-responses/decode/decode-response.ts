// Decodes a whole response as a stream in which every item arrives at once.
import { assembleResponse } from "../../../../canonical/chat/assemble-response.ts"
import type { ChatResponse } from "../../../../canonical/chat/chat-response.ts"
import type { StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { ResponsesStreamDecoder } from "./decode-stream-response.ts"

/** Undefined if it is not a response of this protocol. */
export function decodeResponse(body: JsonObject, context: UpstreamResponseContext): ChatResponse | undefined {
  const { output, error, status } = body
  if (!Array.isArray(output) || status === "failed" || (error !== undefined && error !== null)) return undefined
  const response = new ResponsesStreamDecoder(context)
  const events: StreamEvent[] = response.start(body)
  for (const [output_index, item] of output.entries()) events.push(...response.endItem({ output_index, item }))
  events.push(...response.end(body))
  return assembleResponse(events)
}
