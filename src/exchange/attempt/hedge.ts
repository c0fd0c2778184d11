// A second attempt beside the first where that takes long: who answers first is taken, and the other is let go. Nothing
// has been given to the client before, and nothing is owed for the one that was let go.
import type { HealthMonitor } from "../../routing/health-monitor.ts"
import type { Target } from "../../routing/route-plan.ts"

/** Who is better than nine of ten of its own answers is not hurried. */
const LEAST_MS = 50
/** Where nothing is known of it yet. */
const UNKNOWN_MS = { stream: 2000, whole: 10_000 }

/** How long an attempt may take before another is made beside it. */
export function hedgeAfterMs({ account, upstreamModel }: Target, health: HealthMonitor, stream: boolean): number {
  const known = health.snapshot().of(account)?.targets.get(upstreamModel)
  const usual = stream ? known?.firstTokenMs?.p90 : known?.totalMs?.p90
  return usual === undefined ? UNKNOWN_MS[stream ? "stream" : "whole"] : Math.max(LEAST_MS, usual)
}

/** One of the attempts that run. */
export interface HedgeContender<Answer> {
  readonly answer: Promise<Answer>
  /** Another one answers: it is let go. */
  lostRace(): void
}

export interface HedgeRival<Answer, Of extends HedgeContender<Answer>> {
  readonly afterMs: number
  /** Undefined where there is nobody to ask, or may be none. */
  begin(): Promise<Of | undefined>
  /** Told of one that failed where the other may still answer; throws what ends both. */
  failed(contender: Of, thrown: unknown): void
  /** An answer that came too late. */
  drop(answer: Answer): void
}

/** The one that answers, and what; undefined where both have failed. */
export async function firstToAnswer<Answer, Of extends HedgeContender<Answer>>(
  first: Of,
  rival: HedgeRival<Answer, Of>,
): Promise<{ readonly contender: Of; readonly answer: Answer } | undefined> {
  const contenders = [first]
  const over = new Set<Of>()
  if (await isSlow(first.answer, rival.afterMs)) {
    const second = await rival.begin()
    if (second) contenders.push(second)
  }
  const runs = contenders.map(async (contender) => {
    try {
      return { contender, answer: await contender.answer }
    } catch (thrown) {
      over.add(contender)
      rival.failed(contender, thrown)
      return undefined
    }
  })
  try {
    const won = await firstDefined(runs)
    if (won) over.add(won.contender)
    return won
  } finally {
    for (const each of contenders) if (!over.has(each)) abandonContender(each, rival)
  }
}

async function isSlow(answer: Promise<unknown>, afterMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const slow = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), afterMs)
  })
  const over = () => false
  try {
    return await Promise.race([answer.then(over, over), slow])
  } finally {
    clearTimeout(timer)
  }
}

/** Rejects as soon as one does; undefined where none is defined. */
function firstDefined<Value>(promises: readonly Promise<Value | undefined>[]): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    let open = promises.length
    for (const promise of promises) {
      promise.then((value) => {
        open -= 1
        if (value !== undefined || open === 0) resolve(value)
      }, reject)
    }
  })
}

function abandonContender<Answer, Of extends HedgeContender<Answer>>(
  contender: Of,
  rival: HedgeRival<Answer, Of>,
): void {
  contender.lostRace()
  contender.answer.then(
    (answer) => rival.drop(answer),
    () => {},
  )
}
