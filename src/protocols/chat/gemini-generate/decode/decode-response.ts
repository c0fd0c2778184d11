// Decodes a whole response as a stream of one chunk, and keeps members without a canonical counterpart.
import { assembleResponse } from "../../../../canonical/chat/assemble-response.ts"
import type { ChatResponse, ResponseCandidate } from "../../../../canonical/chat/chat-response.ts"
import { isObject, type JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { PROTOCOL } from "../passthrough-fields.ts"
import { foreignCandidateMembers } from "./decode-stream-candidate.ts"
import { foreignChunkMembers, GeminiChunkDecoder } from "./decode-stream-chunk.ts"

/** Undefined if it is not a response of this protocol. */
export function decodeResponse(body: JsonObject, context: UpstreamResponseContext): ChatResponse | undefined {
  if (body.error !== undefined && body.error !== null) return undefined
  // The response to a blocked prompt has no candidates.
  if (!Array.isArray(body.candidates) && !isObject(body.promptFeedback)) return undefined
  const reader = new GeminiChunkDecoder(context)
  const answer = assembleResponse([...reader.read(body), ...reader.close()])
  const members = foreignChunkMembers(body)
  const candidates = answer.candidates.map((candidate) => withExtra(candidate, body))
  return { ...answer, candidates, ...(members && { extra: { protocol: PROTOCOL, members } }) }
}

function withExtra(candidate: ResponseCandidate, { candidates }: JsonObject): ResponseCandidate {
  const objects = Array.isArray(candidates) ? candidates.filter(isObject) : []
  const own = objects.find(({ index }) => (index ?? 0) === candidate.index)
  const members = own && foreignCandidateMembers(own)
  return members ? { ...candidate, extra: { protocol: PROTOCOL, members } } : candidate
}
