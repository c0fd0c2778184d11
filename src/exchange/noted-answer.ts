// What an answer that came whole leaves behind for requests to come: how its target answers, and where a conversation is
// at home.
import type { Usage } from "../canonical/usage.ts"
import type { Mark } from "../routing/health.ts"
import type { Attempt } from "./lane.ts"

interface Noted {
  readonly usage: Usage | undefined
  /** Of an answer that was not streamed. */
  readonly totalMs?: number
  /** What is wrong with it. */
  marks(): readonly Mark[]
}

export function noteAnswered({ house, trial }: Attempt, { usage, totalMs, marks }: Noted): void {
  if (!trial) return
  house.health.ended(trial, { answered: true, totalMs, outputTokens: outputOf(usage), marks: guarded(marks, house) })
}

/** The next request of this conversation finds its prompt cache there. */
export function noteHome({ house, session, target }: Attempt, usage: Usage | undefined): void {
  if (session !== undefined) house.affinity.answered(session, { target, usage: usage ?? {} })
}

function outputOf({ output, reasoning = 0 }: Usage = {}): number | undefined {
  return output === undefined ? undefined : output + reasoning
}

/** Who only looks at an answer may not spoil it. */
function guarded(marks: Noted["marks"], house: Attempt["house"]): readonly Mark[] {
  try {
    return marks()
  } catch (fault) {
    house.onFault(fault)
    return []
  }
}
