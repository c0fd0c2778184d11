// A whole answer in canonical words: the fold of its one chunk, and what there is no word for beside it.
import { fold } from "../../canonical/fold.ts"
import { isObject, type JsonObject } from "../../canonical/json.ts"
import type { Candidate, ChatResponse } from "../../canonical/response.ts"
import type { DecodeContext } from "../codec.ts"
import { besideContent } from "./candidate.ts"
import { besideCandidates, ChunkReader } from "./chunk.ts"
import { PROTOCOL } from "./members.ts"

/** Undefined where it is no answer of this protocol. */
export function decodeResponse(body: JsonObject, context: DecodeContext): ChatResponse | undefined {
  if (body.error !== undefined && body.error !== null) return undefined
  // A prompt that was blocked has no candidates.
  if (!Array.isArray(body.candidates) && !isObject(body.promptFeedback)) return undefined
  const reader = new ChunkReader(context)
  const answer = fold([...reader.read(body), ...reader.close()])
  const beside = besideCandidates(body)
  const candidates = answer.candidates.map((candidate) => withExtra(candidate, body))
  return { ...answer, candidates, ...(beside && { extra: { protocol: PROTOCOL, members: beside } }) }
}

function withExtra(candidate: Candidate, { candidates }: JsonObject): Candidate {
  const said = Array.isArray(candidates) ? candidates.filter(isObject) : []
  const own = said.find(({ index }) => (index ?? 0) === candidate.index)
  const members = own && besideContent(own)
  return members ? { ...candidate, extra: { protocol: PROTOCOL, members } } : candidate
}
