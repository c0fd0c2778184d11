// The observed health of every account and of every model there, bounded. The exchange reports when an attempt begins,
// answers and ends; the plan reads a snapshot. Clock and randomness are injected.
import type { ProviderAccount } from "../providers/contract.ts"
import type { Breaker, OutageReason } from "./breaker.ts"
import { countsAgainst, type FailureKind } from "./failure-kind.ts"
import { AccountHealth, TargetHealth } from "./target-health.ts"

/** The identity of a target for health: one model at one account. */
export interface TargetKey {
  readonly account: ProviderAccount
  /** The model's name at the provider. */
  readonly upstreamModel: string
}

export type AttemptOutcome = AnsweredOutcome | FailedOutcome

/** A defect of a complete answer. A refusal is none. */
export type AnswerDefect = "truncated" | "invalid-arguments" | "invalid-json"

export interface AnsweredOutcome {
  readonly answered: true
  /** The duration of a complete answer that was not streamed. */
  readonly totalMs?: number | undefined
  readonly outputTokens?: number | undefined
  readonly defects?: readonly AnswerDefect[]
}

export interface FailedOutcome {
  readonly failed: FailureKind
  /** The wait that a rate-limiting host requests. */
  readonly retryAfterMs?: number | undefined
  readonly quota?: "minute" | "day" | "spend" | undefined
}

/** An attempt in progress. */
export interface TrackedAttempt {
  readonly key: TargetKey
  readonly account: BreakerTicket<AccountHealth>
  readonly target: BreakerTicket<TargetHealth>
  isWaiting: boolean
  isOver: boolean
}

/** An attempt's claim on the breaker of an account or of a model there. */
interface BreakerTicket<Of> {
  readonly of: Of
  /** The breaker's generation when the attempt began. */
  readonly generation: number
  /** True if this attempt probes an open breaker. */
  readonly isProbe: boolean
}

export interface HealthSnapshot {
  readonly now: number
  of(account: ProviderAccount): AccountHealth | undefined
}

export interface HealthMonitorOptions {
  /** Monotonic clock, in ms. */
  readonly now: () => number
  /** Uniform in [0, 1). */
  readonly chance: () => number
  /** Called once each time an account needs an operator. */
  readonly onSetAside: (account: ProviderAccount, why: "credential" | "spend-cap") => void
}

const FAILURES_IN_ROW = 5
const FAILING = { least: 20, share: 0.5 }
const OUT_MS = { each: 15_000, most: 300_000, jitter: 0.1 }
const ASIDE_MS = 300_000
/** The longest exclusion of a target: limits are often raised before they end. */
const LONGEST_MS = 3_600_000
/** Longer than any attempt takes. */
const IDLE_MS = 3_600_000
const MAX_TARGETS = 2000
const SWEEP_MS = 600_000

export class HealthMonitor {
  private readonly accounts = new Map<ProviderAccount, AccountHealth>()
  private size = 0
  private sweptAt = 0

  constructor(private readonly options: HealthMonitorOptions) {}

  snapshot(): HealthSnapshot {
    return { now: this.options.now(), of: (account) => this.accounts.get(account) }
  }

  /** True if the target is neither out nor probed by another attempt. */
  accepts({ account, upstreamModel }: TargetKey): boolean {
    const known = this.accounts.get(account)
    return known?.stateOf(known.targets.get(upstreamModel), this.options.now()) !== "out"
  }

  /** True if at least half of the calls of the last seconds succeeded; without calls, if the last one did. */
  mostlyAnswers({ account, upstreamModel }: TargetKey): boolean {
    const known = this.accounts.get(account)?.targets.get(upstreamModel)
    if (!known) return true
    const now = this.options.now()
    const all = known.recent.allAt(now)
    return all === 0 ? known.inRow === 0 : 2 * known.recent.failedAt(now) <= all
  }

  beginAttempt(key: TargetKey): TrackedAttempt {
    const now = this.options.now()
    if (now - this.sweptAt >= SWEEP_MS) this.forgetIdle(now)
    const account = this.accounts.get(key.account) ?? this.newAccount(key.account)
    const target = account.targets.get(key.upstreamModel) ?? this.newTarget(account, key)
    target.usedAt = now
    target.noteWaiting(now)
    return {
      key,
      account: takeTicket(account, now),
      target: takeTicket(target, now),
      isWaiting: true,
      isOver: false,
    }
  }

  /** Records the first event of an answer, which means that the target works; the rest of a stream may take long. */
  noteFirstToken(trial: TrackedAttempt, firstTokenMs: number): void {
    const now = this.options.now()
    markWorking(trial, now)
    trial.target.of.noteFirstToken(firstTokenMs, now)
  }

  /** Records an attempt's outcome; only the first report counts. */
  endAttempt(trial: TrackedAttempt, outcome: AttemptOutcome): void {
    if (trial.isOver) return
    trial.isOver = true
    endWaiting(trial)
    if ("failed" in outcome) this.noteFailed(trial, outcome)
    else this.noteAnswered(trial, outcome)
  }

  /** Another attempt at the same request answered first: this one would have taken longer than this. */
  lostRace(trial: TrackedAttempt, { ms, stream }: { readonly ms: number; readonly stream: boolean }): void {
    if (trial.isOver) return
    const now = this.options.now()
    trial.isOver = true
    endWaiting(trial)
    if (stream) trial.target.of.noteFirstToken(ms, now)
    else trial.target.of.noteTotal(ms, now)
    cancelProbe(trial.account)
    cancelProbe(trial.target)
  }

  private noteAnswered(trial: TrackedAttempt, { totalMs, outputTokens, defects = [] }: AnsweredOutcome): void {
    const now = this.options.now()
    const target = trial.target.of
    markWorking(trial, now)
    target.recent.add(false, now)
    target.success.add(1, now)
    target.noteQuality(defects.length === 0, now)
    if (totalMs !== undefined) target.noteTotal(totalMs, now)
    if (outputTokens !== undefined) target.outputTokens.add(outputTokens, now)
  }

  private noteFailed({ key, account, target }: TrackedAttempt, failed: FailedOutcome): void {
    const blamed = failed.quota === "spend" ? "account" : countsAgainst(failed.failed)
    if (blamed === "account") this.setAside(account, { ...failed, account: key.account })
    else if (blamed === "limit") this.countRateLimit(target, failed)
    else if (blamed === "target") this.countFailure(target, failed.failed)
    cancelProbe(account)
    cancelProbe(target)
  }

  private countFailure(target: BreakerTicket<TargetHealth>, kind: FailureKind): void {
    const now = this.options.now()
    const { breaker, recent, success } = target.of
    // Attempts from before the outage add nothing new.
    if (target.generation !== breaker.generation) return
    recent.add(true, now)
    success.add(0, now)
    target.of.noteQuality(false, now)
    target.of.inRow++
    if (breaker.why !== undefined) {
      if (target.isProbe && breaker.failProbe(kind === "timeout")) this.goOut(target.of, { why: "failing" })
      return
    }
    const all = recent.allAt(now)
    const isFailing = all >= FAILING.least && recent.failedAt(now) > FAILING.share * all
    if (isFailing || target.of.inRow >= FAILURES_IN_ROW) this.goOut(target.of, { why: "failing" })
  }

  private countRateLimit(target: BreakerTicket<TargetHealth>, { retryAfterMs, quota }: FailedOutcome): void {
    const { breaker } = target.of
    const why = quota === "day" ? "day-quota" : "limited"
    const ms = retryAfterMs ?? (quota === "day" ? ASIDE_MS : undefined)
    const most = ms && Math.min(ms, LONGEST_MS)
    if (mayOpenBreaker(target)) this.goOut(target.of, { why, requestedMs: most })
    // If several requests are rejected at once, the longest pause counts.
    else if (breaker.why !== undefined && most !== undefined) breaker.stayOut(this.options.now() + most)
  }

  private setAside(
    share: BreakerTicket<AccountHealth>,
    { retryAfterMs = 0, quota, account }: FailedOutcome & { account: ProviderAccount },
  ): void {
    if (!mayOpenBreaker(share)) return
    const { breaker } = share.of
    const isNew = breaker.why === undefined
    const why = quota === "spend" ? "spend-cap" : "credential"
    const ms = quota === "spend" ? Math.min(LONGEST_MS, Math.max(retryAfterMs, ASIDE_MS)) : ASIDE_MS
    breaker.goOut(why, { now: this.options.now(), ms })
    if (isNew) this.options.onSetAside(account, why)
  }

  /** Opens the breaker for as long as the provider requests, else longer each time. */
  private goOut(
    target: TargetHealth,
    { why, requestedMs }: { why: OutageReason; requestedMs?: number | undefined },
  ): void {
    const now = this.options.now()
    const { breaker } = target
    const jitter = 1 + OUT_MS.jitter * (2 * this.options.chance() - 1)
    const ms = requestedMs ?? Math.min(OUT_MS.most, OUT_MS.each * breaker.timesAt(now) * jitter)
    breaker.goOut(why, { now, ms })
    target.inRow = 0
  }

  private newAccount(account: ProviderAccount): AccountHealth {
    const health = new AccountHealth()
    this.accounts.set(account, health)
    return health
  }

  private newTarget(account: AccountHealth, { upstreamModel }: TargetKey): TargetHealth {
    if (this.size >= MAX_TARGETS) this.makeRoom()
    const target = new TargetHealth(this.options.now())
    account.targets.set(upstreamModel, target)
    this.size++
    return target
  }

  /** Forgets a tenth of the targets at once, so that it does not run for each new one. */
  private makeRoom(): void {
    const all = [...this.accounts.values()].flatMap(({ targets }) =>
      [...targets].map(([name, { usedAt }]) => ({ targets, name, usedAt })),
    )
    all.sort((one, other) => one.usedAt - other.usedAt)
    for (const { targets, name } of all.slice(0, MAX_TARGETS / 10)) if (targets.delete(name)) this.size--
  }

  private forgetIdle(now: number): void {
    this.sweptAt = now
    for (const [account, { targets }] of this.accounts) {
      for (const [name, { usedAt }] of targets) if (now - usedAt >= IDLE_MS && targets.delete(name)) this.size--
      if (targets.size === 0) this.accounts.delete(account)
    }
  }
}

function takeTicket<Of extends { readonly breaker: Breaker }>(of: Of, now: number): BreakerTicket<Of> {
  return { of, generation: of.breaker.generation, isProbe: of.breaker.begin(now) }
}

/** This also runs if it was called as a last resort while it was out. */
function markWorking(trial: TrackedAttempt, now: number): void {
  const { account, target } = trial
  if (trial.isWaiting) target.of.noteLife(now)
  endWaiting(trial)
  if (account.generation === account.of.breaker.generation) account.of.breaker.goIn(now)
  if (target.generation !== target.of.breaker.generation) return
  target.of.inRow = 0
  if (target.of.breaker.why === undefined) return
  target.of.breaker.goIn(now)
  target.of.recent.clear()
}

function endWaiting(trial: TrackedAttempt): void {
  if (trial.isWaiting) trial.target.of.noteWaited()
  trial.isWaiting = false
}

/** True for a closed breaker, or for its probe; false for attempts that began earlier or as a last resort. */
function mayOpenBreaker({
  of: { breaker },
  generation,
  isProbe,
}: BreakerTicket<{ readonly breaker: Breaker }>): boolean {
  return generation === breaker.generation && (breaker.why === undefined || isProbe)
}

function cancelProbe({ of: { breaker }, generation, isProbe }: BreakerTicket<{ readonly breaker: Breaker }>): void {
  if (isProbe && generation === breaker.generation) breaker.cancelProbe()
}
