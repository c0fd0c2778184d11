// For tests: accounts by name, and health under a clock and a chance that the test holds in its hands.
import type { Account } from "../providers/contract.ts"
import { type Failed, Health, type Place, type Trial } from "./health.ts"

export const accountNamed = (id: string): Account => ({
  id,
  baseUrl: `http://${id}`,
  isFree: false,
  reportsModel: true,
  saltsIdentifiers: true,
  lines: {},
  secrets: () => [],
  credentialSource: "not needed",
  check: () => Promise.resolve({ verdict: "not needed", sound: true }),
})

export class StagedHealth {
  now = 1000
  /** In the middle nothing is shaken. */
  chance = 0.5
  readonly aside: string[] = []
  readonly health = new Health({
    now: () => this.now,
    chance: () => this.chance,
    onAside: ({ id }, why) => this.aside.push(`${id}: ${why}`),
  })

  answer(place: Place): void {
    this.health.ended(this.health.begun(place), { answered: true })
  }

  fail(place: Place, failed: Failed | Failed["failed"] = "server"): void {
    this.health.ended(this.health.begun(place), typeof failed === "string" ? { failed } : failed)
  }

  /** So many in a row. */
  failTimes(times: number, place: Place): void {
    for (let time = 0; time < times; time++) this.fail(place)
  }

  begun(times: number, place: Place): Trial[] {
    return Array.from({ length: times }, () => this.health.begun(place))
  }
}
