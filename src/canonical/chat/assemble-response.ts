// Assembles a stream's events into a whole response.

import type { CandidateFinish, ChatResponse, TokenLogprob } from "./chat-response.ts"
import type { Citation, ContentPart } from "./content-part.ts"
import type { SealedContent } from "./sealed-content.ts"
import type { PartStart, StreamEvent } from "./stream-event.ts"

interface AssembledPart {
  readonly start: PartStart
  text: string
  readonly citations: Citation[]
  sealed?: SealedContent
}

interface AssembledCandidate {
  readonly parts: Map<number, AssembledPart>
  readonly logprobs: TokenLogprob[]
  finish?: CandidateFinish
}

export function assembleResponse(events: Iterable<StreamEvent>): ChatResponse {
  const candidates = new Map<number, AssembledCandidate>()
  let head: Pick<ChatResponse, "id" | "model" | "created"> = {}
  let usage: ChatResponse["usage"]
  for (const event of events) {
    if (event.type === "stream-start") {
      const { type: _, ...rest } = event
      head = rest
    } else if (event.type === "usage") usage = event.usage
    else if ("candidate" in event) growAssembledCandidate(candidates, event)
  }
  return {
    ...head,
    candidates: [...candidates].sort(([a], [b]) => a - b).map(([index, open]) => closeAssembledCandidate(index, open)),
    ...(usage && { usage }),
  }
}

function growAssembledCandidate(
  candidates: Map<number, AssembledCandidate>,
  event: Extract<StreamEvent, { candidate: number }>,
): void {
  let candidate = candidates.get(event.candidate)
  if (!candidate) {
    candidate = { parts: new Map(), logprobs: [] }
    candidates.set(event.candidate, candidate)
  }
  if (event.type === "candidate-end") candidate.finish = event.finish
  else if (event.type === "logprobs") candidate.logprobs.push(...event.tokens)
  else if (event.type === "part-start") candidate.parts.set(event.part, { start: event.start, text: "", citations: [] })
  else {
    const part = candidate.parts.get(event.part)
    if (!part) throw new Error(`part ${event.part} of candidate ${event.candidate} was never started`)
    if (event.type === "part-delta") part.text += event.text
    else if (event.type === "part-cite") part.citations.push(event.citation)
    else if (event.sealed) part.sealed = event.sealed
  }
}

function closeAssembledCandidate(index: number, open: AssembledCandidate): ChatResponse["candidates"][number] {
  const parts = [...open.parts].sort(([a], [b]) => a - b).map(([, part]) => closeAssembledPart(part))
  const { finish, logprobs } = open
  return { index, parts, ...(finish && { finish }), ...(logprobs.length > 0 && { logprobs }) }
}

function closeAssembledPart({ start, text, citations, sealed }: AssembledPart): ContentPart {
  if (start.kind === "whole") return start.part
  const seal = sealed && { sealed }
  if (start.kind === "tool-call") return { ...start, arguments: text, ...seal }
  if (start.kind === "reasoning") return { ...start, text, ...seal }
  if (start.kind === "text" && citations.length > 0) return { kind: "text", text, citations }
  return { kind: start.kind, text }
}
