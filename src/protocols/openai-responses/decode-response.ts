// A whole response in canonical words: read as a stream in which every item comes at once.
import { fold } from "../../canonical/fold.ts"
import type { JsonObject } from "../../canonical/json.ts"
import type { ChatResponse } from "../../canonical/response.ts"
import type { StreamEvent } from "../../canonical/stream.ts"
import type { DecodeContext } from "../codec.ts"
import { GrowingResponse } from "./growing-response.ts"

/** Undefined where it is no answer of this protocol. */
export function decodeResponse(body: JsonObject, context: DecodeContext): ChatResponse | undefined {
  const { output, error, status } = body
  if (!Array.isArray(output) || status === "failed" || (error !== undefined && error !== null)) return undefined
  const response = new GrowingResponse(context)
  const events: StreamEvent[] = response.start(body)
  for (const [output_index, item] of output.entries()) events.push(...response.endItem({ output_index, item }))
  events.push(...response.end(body))
  return fold(events)
}
