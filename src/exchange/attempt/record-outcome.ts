// Records a complete response for later routing: the target's health and latency, and the conversation's affinity.
import type { Usage } from "../../canonical/usage.ts"
import type { AnswerDefect } from "../../routing/health-monitor.ts"
import type { Attempt } from "../lanes/lane.ts"

interface AnswerFacts {
  readonly usage: Usage | undefined
  /** Of an answer that was not streamed. */
  readonly totalMs?: number
  /** What is wrong with it. */
  defects(): readonly AnswerDefect[]
}

export function recordAnswered({ deps, trial }: Attempt, { usage, totalMs, defects }: AnswerFacts): void {
  if (!trial) return
  deps.health.endAttempt(trial, {
    answered: true,
    totalMs,
    outputTokens: outputOf(usage),
    defects: collectDefects(defects, deps),
  })
}

/** The next request of this conversation finds its prompt cache there. */
export function recordSessionHome({ deps, session, target }: Attempt, usage: Usage | undefined): void {
  if (session !== undefined) deps.affinity.noteAnswered(session, { target, usage: usage ?? {} })
}

function outputOf({ output, reasoning = 0 }: Usage = {}): number | undefined {
  return output === undefined ? undefined : output + reasoning
}

/** An observer must not fail the response. */
function collectDefects(marks: AnswerFacts["defects"], deps: Attempt["deps"]): readonly AnswerDefect[] {
  try {
    return marks()
  } catch (fault) {
    deps.onFault(fault)
    return []
  }
}
