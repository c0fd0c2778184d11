// For tests: accounts by name, and health with a settable clock and fixed randomness.
import type { ProviderAccount } from "../providers/contract.ts"
import { type FailedOutcome, HealthMonitor, type TargetKey, type TrackedAttempt } from "./health-monitor.ts"

export const accountNamed = (id: string): ProviderAccount => ({
  id,
  baseUrl: `http://${id}`,
  isFree: false,
  reportsModel: true,
  saltsIdentifiers: true,
  endpoints: {},
  secrets: () => [],
  credentialSource: "not needed",
  check: () => Promise.resolve({ verdict: "not needed", sound: true }),
})

export class StagedHealth {
  now = 1000
  /** The middle of the range: no jitter. */
  chance = 0.5
  readonly setAside: string[] = []
  readonly health = new HealthMonitor({
    now: () => this.now,
    chance: () => this.chance,
    onSetAside: ({ id }, why) => this.setAside.push(`${id}: ${why}`),
  })

  answer(target: TargetKey): void {
    this.health.endAttempt(this.health.beginAttempt(target), { answered: true })
  }

  fail(target: TargetKey, failed: FailedOutcome | FailedOutcome["failed"] = "server"): void {
    this.health.endAttempt(this.health.beginAttempt(target), typeof failed === "string" ? { failed } : failed)
  }

  failTimes(times: number, target: TargetKey): void {
    for (let time = 0; time < times; time++) this.fail(target)
  }

  beginAttempt(times: number, target: TargetKey): TrackedAttempt[] {
    return Array.from({ length: times }, () => this.health.beginAttempt(target))
  }
}
