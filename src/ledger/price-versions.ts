// Prices by their version, written once each.
import type { Pricing } from "../canonical/model.ts"
import type { PriceTable } from "../store/contract.ts"
import { priceVersion, pricingText } from "./cost.ts"

export class PriceVersions {
  /** A pricing is a catalogue object that many requests share. */
  private readonly versions = new WeakMap<Pricing, string>()
  private readonly recorded = new Set<string>()
  private readonly written = new Set<string>()

  constructor(private readonly table: PriceTable) {}

  /** The version of a pricing, which is stored if needed; within a transaction. */
  record(pricing: Pricing): string {
    const version = this.versions.get(pricing) ?? this.nameVersion(pricing)
    if (!this.recorded.has(version)) {
      this.table.insert(version, pricingText(pricing))
      this.written.add(version)
    }
    return version
  }

  /** Called when the transaction is durable. */
  committed(): void {
    for (const version of this.written) this.recorded.add(version)
  }

  /** Called before another transaction. */
  reset(): void {
    if (this.written.size > 0) this.written.clear()
  }

  find(version: string): Pricing | undefined {
    const text = this.table.find(version)
    return text === undefined ? undefined : JSON.parse(text)
  }

  private nameVersion(pricing: Pricing): string {
    const version = priceVersion(pricing)
    this.versions.set(pricing, version)
    return version
  }
}
