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

/** A running attempt in a race. */
export interface RaceEntrant<Answer> {
  readonly answer: Promise<Answer>
  /** Called when it fails while the race goes on; throws to end the race. */
  onFailed(thrown: unknown): void
  /** Cancels the attempt because the other one responded. */
  cancel(): void
  /** Discards a response that came after the cancellation. */
  discard(answer: Answer): void
}

interface HedgeOptions<Entrant> {
  readonly afterMs: number
  /** Undefined if no second attempt is possible or allowed. */
  startSecond(): Promise<Entrant | undefined>
}

/** The attempt that responded first, after its response has arrived; undefined if all failed. */
export async function raceAttempts<Entrant extends RaceEntrant<unknown>>(
  first: Entrant,
  { afterMs, startSecond }: HedgeOptions<Entrant>,
): Promise<Entrant | undefined> {
  const entrants = [first]
  const over = new Set<Entrant>()
  if (await isSlow(first.answer, afterMs)) {
    const second = await startSecond()
    if (second) entrants.push(second)
  }
  const runs = entrants.map((entrant) =>
    entrant.answer.then(
      () => entrant,
      (thrown) => {
        over.add(entrant)
        entrant.onFailed(thrown)
        return undefined
      },
    ),
  )
  try {
    const winner = await firstDefined(runs)
    if (winner) over.add(winner)
    return winner
  } finally {
    for (const entrant of entrants) if (!over.has(entrant)) abandon(entrant)
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

/** Rejects as soon as one does; undefined if none has a value. */
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

function abandon(entrant: RaceEntrant<unknown>): void {
  entrant.cancel()
  entrant.answer.then(
    (answer) => entrant.discard(answer),
    () => {},
  )
}
