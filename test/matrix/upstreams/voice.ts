// How one protocol is spoken at the upstream's end: what a request says, and an answer as the vendor writes it. By hand,
// and not with the product's codecs: an error of theirs would cancel itself.
import type { UpstreamProtocol } from "../axes.ts"
import type { Answer, Heard, HeardTurn, JsonObject } from "../conversation.ts"
import type { Members } from "../wire.ts"

export interface Voice {
  readonly protocol: UpstreamProtocol
  /** What its streams are. */
  readonly contentType: string
  /** How a call that generates was addressed; undefined for any other. */
  addressed(path: string, body: Members): Addressed | undefined
  heard(body: Members, addressed: Addressed): Heard
  whole(answer: Answer, body: Members): JsonObject
  stream(answer: Answer, body: Members): Spoken
  /** How the vendor ends a stream that it cannot go on with. */
  readonly errorEvent: Bytes
}

export interface Addressed {
  readonly model: string
  readonly stream: boolean
}

export type Bytes = string | Uint8Array

/** The events of a stream, and how many of them have come when the last piece of its content has. */
export interface Spoken {
  readonly events: readonly Bytes[]
  readonly untilLastPiece: number
}

export class Speech implements Spoken {
  readonly events: Bytes[] = []
  untilLastPiece = 0

  add(event: Bytes): void {
    this.events.push(event)
  }

  /** A piece of what the caller reads. */
  addPiece(event: Bytes): void {
    this.untilLastPiece = this.events.push(event)
  }
}

/** Some protocols have a message for each thing, others one for all of a side: here it is one. */
export function joined(turns: readonly HeardTurn[]): HeardTurn[] {
  const all: HeardTurn[] = []
  for (const turn of turns) {
    const before = all.at(-1)
    if (before?.by === turn.by) all[all.length - 1] = { ...before, parts: [...before.parts, ...turn.parts] }
    else all.push(turn)
  }
  return all
}
