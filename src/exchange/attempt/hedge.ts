// Hedging: starts a second attempt if the first is slow, uses the first response and cancels the other. Nothing has
// been sent to the client by then, and nothing is owed for the cancelled attempt.
import type { HealthMonitor } from "../../routing/health-monitor.ts"
import type { Target } from "../../routing/route-plan.ts"

/** Minimum hedge delay; above it, the target's 90th percentile applies. */
const LEAST_MS = 50
/** Default without measurements. */
const UNKNOWN_MS = { stream: 2000, whole: 10_000 }

/** Delay before a slow attempt is hedged. */
export function hedgeAfterMs({ account, upstreamModel }: Target, health: HealthMonitor, stream: boolean): number {
  const known = health.snapshot().of(account)?.targets.get(upstreamModel)
  const usual = stream ? known?.firstTokenMs?.p90 : known?.totalMs?.p90
  return usual === undefined ? UNKNOWN_MS[stream ? "stream" : "whole"] : Math.max(LEAST_MS, usual)
}

/** A running attempt. */
export interface HedgeContender<Answer> {
  readonly answer: Promise<Answer>
  /** Cancels the attempt because the other one responded. */
  lostRace(): void
}

export interface HedgeRival<Answer, Of extends HedgeContender<Answer>> {
  readonly afterMs: number
  /** Undefined if no second attempt is possible or allowed. */
  begin(): Promise<Of | undefined>
  /** Called when one fails while the other still runs; throws to end both. */
  failed(contender: Of, thrown: unknown): void
  /** Discards a response that came too late. */
  drop(answer: Answer): void
}

/** The winning attempt and its response; undefined if both failed. */
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

/** Rejects as soon as one does; undefined if neither has a value. */
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
