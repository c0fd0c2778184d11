// Receipts, usage and ledger verification as the administration returns them.
import type { JsonObject } from "../canonical/json.ts"

export interface ReceiptResponse {
  readonly id: string
  readonly time: string
  readonly tenant: string
  readonly key: string
  readonly outcome: string
  readonly cost: string
  readonly paid: string
  readonly written_off: string
  readonly in_suspense: string
  readonly owed?: string
  readonly returned?: string
  readonly model: string | null
  readonly provider: string | null
  readonly price_version: string | null
  readonly formula: readonly {
    readonly bucket: string
    readonly units: number
    readonly price: string
    readonly tier: number | null
    readonly amount: string
  }[]
  readonly recomputed_cost: string | null
  readonly as_booked: boolean | null
  readonly facts: JsonObject | null
}

/** Days are dates such as 2026-11-15, both included. */
export interface UsageFilters {
  readonly from?: string
  readonly to?: string
  readonly tenant?: string
  readonly key?: string
  readonly model?: string
  readonly after?: string
}

/** Usage of one day, key, model and provider. */
export interface UsageRowResponse {
  readonly date: string
  readonly tenant: string
  readonly key: string
  readonly model: string
  readonly provider: string
  readonly requests: number
  readonly input: number
  readonly cache_read: number
  readonly cache_write: number
  readonly cache_write_1h: number
  readonly audio_input: number
  readonly image_input: number
  readonly output: number
  readonly reasoning: number
  readonly audio_output: number
  readonly image_output: number
  readonly images: number
  readonly paid: string
}

export interface UsagePageResponse {
  readonly usage: readonly UsageRowResponse[]
  readonly next: string | null
}

/** Amounts are decimal USD. */
export interface SuspensePageResponse {
  readonly suspense: readonly {
    readonly id: string
    readonly tenant: string
    readonly key: string
    readonly amount: string
    readonly since: string
    readonly returns_at: string
  }[]
  readonly next: string | null
  readonly count: number
  readonly total: string
}

export interface ReturnedSuspenseResponse {
  readonly returned: number
  readonly amount: string
}

/** Result of a ledger verification. */
export interface VerificationResponse {
  readonly sound: boolean
  readonly problems: readonly { readonly invariant: string; readonly what: string }[]
}
