// One protocol at the upstream's end: reading a request, and writing an answer as the vendor does. It is written by
// hand and not with the product's codecs, whose errors would cancel out.
import type { UpstreamProtocol } from "../axes.ts"
import type { JsonObject, ReceivedConversation, ReceivedTurn, ScriptedAnswer } from "../conversation.ts"
import type { WireMembers } from "../wire.ts"

export interface UpstreamFormat {
  readonly protocol: UpstreamProtocol
  /** The content type of its streams. */
  readonly contentType: string
  /** The target of a generating call; undefined for any other. */
  addressed(path: string, body: WireMembers): RequestTarget | undefined
  parseRequest(body: WireMembers, addressed: RequestTarget): ReceivedConversation
  whole(answer: ScriptedAnswer, body: WireMembers): JsonObject
  stream(answer: ScriptedAnswer, body: WireMembers): EncodedAnswer
  /** The vendor's end of a stream that failed. */
  readonly errorEvent: EventBytes
}

export interface RequestTarget {
  readonly model: string
  readonly stream: boolean
}

export type EventBytes = string | Uint8Array

/** The events of a stream, and how many of them have come when the last piece of its content has. */
export interface EncodedAnswer {
  readonly events: readonly EventBytes[]
  readonly untilLastPiece: number
}

export class AnswerRecorder implements EncodedAnswer {
  readonly events: EventBytes[] = []
  untilLastPiece = 0

  add(event: EventBytes): void {
    this.events.push(event)
  }

  /** A piece of what the caller reads. */
  addPiece(event: EventBytes): void {
    this.untilLastPiece = this.events.push(event)
  }
}

/** Some protocols have a message for each thing, others one for all of a side: here it is one. */
export function joined(turns: readonly ReceivedTurn[]): ReceivedTurn[] {
  const all: ReceivedTurn[] = []
  for (const turn of turns) {
    const before = all.at(-1)
    if (before?.by === turn.by) all[all.length - 1] = { ...before, parts: [...before.parts, ...turn.parts] }
    else all.push(turn)
  }
  return all
}
