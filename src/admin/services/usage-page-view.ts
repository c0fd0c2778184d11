// The usage view, in pages: each page ends with the cursor of the next.
import { excerpt, GatewayError } from "../../canonical/gateway-error.ts"
import { usdOfNano } from "../../canonical/usd.ts"
import { dayOfDate } from "../../ledger/budget.ts"
import type { Ledger } from "../../ledger/ledger.ts"

type LedgerUsageRows = ReturnType<Ledger["usage"]>
type UsagePageCursor = NonNullable<Parameters<Ledger["usage"]>[0]["after"]>

interface UsageRowView {
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
  /** Decimal USD. */
  readonly paid: string
}

export interface UsagePageView {
  readonly usage: readonly UsageRowView[]
  /** Cursor of the next page; null on the last page. */
  readonly next: string | null
}

export function toUsagePageView(rows: LedgerUsageRows, limit: number): UsagePageView {
  const last = rows.length < limit ? undefined : rows.at(-1)
  return { usage: rows.map(toUsageRowView), next: last ? encodeCursor(last) : null }
}

function toUsageRowView(row: LedgerUsageRows[number]): UsageRowView {
  return {
    date: row.date,
    tenant: row.tenant,
    key: row.keyId,
    model: row.model,
    provider: row.provider,
    requests: row.requests,
    input: row.input,
    cache_read: row.cacheRead,
    cache_write: row.cacheWrite,
    cache_write_1h: row.cacheWrite1h,
    audio_input: row.audioInput,
    image_input: row.imageInput,
    output: row.output,
    reasoning: row.reasoning,
    audio_output: row.audioOutput,
    image_output: row.imageOutput,
    images: row.images,
    paid: usdOfNano(row.paidNano),
  }
}

function encodeCursor({ date, tenant, keyId, model, provider }: UsagePageCursor): string {
  return Buffer.from(JSON.stringify([date, tenant, keyId, model, provider])).toString("base64url")
}

export function decodeCursor(mark: string): UsagePageCursor {
  try {
    const read: unknown = JSON.parse(Buffer.from(mark, "base64url").toString())
    if (Array.isArray(read) && read.length === 5 && read.every((each) => typeof each === "string")) {
      const [date, tenant, keyId, model, provider] = read as [string, string, string, string, string]
      if (dayOfDate(date) !== undefined) return { date, tenant, keyId, model, provider }
    }
  } catch {
    // Reported below.
  }
  const message = `\`after\` must be the \`next\` value of the previous page, not "${excerpt(mark)}".`
  throw new GatewayError("invalid_parameter", message, { param: "after" })
}
