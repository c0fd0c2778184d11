// The usage that one transaction adds: rows of the same day, key, model and provider are added together and written once.
import type { Usage } from "../canonical/usage.ts"
import type { HoldRow, UsageRow, UsageTable } from "../store/contract.ts"

export interface RequestUsage {
  readonly model: string
  readonly provider: string
  readonly usage: Usage
  readonly images?: number | undefined
  readonly paidNano: bigint
}

type Sum = { -readonly [Member in keyof UsageRow]: UsageRow[Member] }

export class GroupUsage {
  private readonly sums = new Map<string, Sum>()

  constructor(private readonly table: UsageTable) {}

  /** It counts on the day on which it was held, as budgets do. */
  add({ day, tenant, keyId }: HoldRow, { model, provider, usage, images = 0, paidNano }: RequestUsage): void {
    const place = `${day}\n${tenant}\n${keyId}\n${model}\n${provider}`
    let sum = this.sums.get(place)
    if (!sum) {
      sum = emptyRow({ day, tenant, keyId, model, provider })
      this.sums.set(place, sum)
    }
    sum.requests += 1
    sum.input += usage.input ?? 0
    sum.cacheRead += usage.cacheRead ?? 0
    sum.cacheWrite += usage.cacheWrite ?? 0
    sum.cacheWrite1h += usage.cacheWrite1h ?? 0
    sum.audioInput += usage.audioInput ?? 0
    sum.imageInput += usage.imageInput ?? 0
    sum.output += usage.output ?? 0
    sum.reasoning += usage.reasoning ?? 0
    sum.audioOutput += usage.audioOutput ?? 0
    sum.imageOutput += usage.imageOutput ?? 0
    sum.images += images
    sum.paidNano += paidNano
  }

  finish(): void {
    for (const sum of this.sums.values()) this.table.add(sum)
  }

  reset(): void {
    this.sums.clear()
  }
}

function emptyRow({ day, tenant, keyId, model, provider }: Omit<UsageRow, keyof typeof NOTHING>): Sum {
  return { day, tenant, keyId, model, provider, ...NOTHING }
}

const NOTHING = {
  requests: 0,
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  audioInput: 0,
  imageInput: 0,
  output: 0,
  reasoning: 0,
  audioOutput: 0,
  imageOutput: 0,
  images: 0,
  paidNano: 0n,
}
