// Decodes a whole response.

import type { ChatResponse } from "../../../../canonical/chat/chat-response.ts"
import type { Json, JsonObject } from "../../../../canonical/json.ts"
import { claimFields } from "../../../../canonical/passthrough-fields.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { decodeFinish } from "../finish-reasons.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import { decodeUsage, serverToolUse } from "../usage.ts"
import { decodeBlock } from "./decode-part.ts"

export function decodeResponse(body: JsonObject, { minter }: UpstreamResponseContext): ChatResponse | undefined {
  if (body.type === "error" || !Array.isArray(body.content)) return undefined
  const held = claimFields(body)
  for (const name of ["type", "role", "content", "stop_reason", "stop_sequence", "usage"]) held.take(name)
  const id = held.take("id")
  const model = held.take("model")
  const usage = decodeUsage(body.usage)
  const finish = typeof body.stop_reason === "string" ? decodeFinish(body.stop_reason, body.stop_sequence) : undefined
  const parts = body.content.map((block: Json) => decodeBlock(block, { minter }))
  const rest = held.rest(PROTOCOL)
  const counts = serverToolUse(body.usage)
  const extra = counts ? { protocol: PROTOCOL, members: { ...rest?.members, ...counts } } : rest
  return {
    ...(typeof id === "string" && { id }),
    ...(typeof model === "string" && { model }),
    candidates: [{ index: 0, parts, ...(finish && { finish }) }],
    ...(usage && { usage }),
    ...(extra && { extra }),
  }
}
