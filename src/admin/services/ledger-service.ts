// Admin operations on the ledger: receipts, usage and verification, with their input and view types.
import type { KeyRegistry } from "../../access/key-registry.ts"
import { excerpt, GatewayError } from "../../canonical/gateway-error.ts"
import { dateOfDay, dayOf, dayOfDate, windowOf } from "../../ledger/budget.ts"
import type { Ledger } from "../../ledger/ledger.ts"
import { type ReceiptView, toReceiptView } from "./receipt-view.ts"
import { decodeCursor, toUsagePageView, type UsagePageView } from "./usage-page-view.ts"

/** Inclusive dates such as 2026-11-15; default: from the first of this month until today (UTC). */
export interface UsageInput {
  readonly from?: string
  readonly to?: string
  readonly tenant?: string
  /** Under the key's current tenant, unless another is given. */
  readonly key?: string
  readonly model?: string
  readonly after?: string
  readonly limit?: number
}

export interface LedgerVerdict {
  readonly sound: boolean
  readonly problems: readonly { readonly invariant: string; readonly what: string }[]
}

interface LedgerServiceOptions {
  readonly keys: KeyRegistry
  readonly ledger: Ledger
  readonly now: () => number
}

const ROWS_PER_PAGE = 1000

export class LedgerService {
  private proof: ReturnType<Ledger["verify"]> | undefined

  constructor(private readonly options: LedgerServiceOptions) {}

  /** If a tenant is given, other tenants' receipts count as missing. */
  async receipt(id: string, tenant?: string): Promise<ReceiptView> {
    const { ledger } = this.options
    const receipt = ledger.receipt(id, tenant)
    if (receipt) return toReceiptView(receipt, (version) => ledger.pricing(version))
    const hint = "A receipt's id is the `x-request-id` of the response; the receipt exists once the response has ended."
    throw new GatewayError("resource_not_found", `There is no receipt ${excerpt(id)}. ${hint}`)
  }

  async usage({ key, model, after, limit = ROWS_PER_PAGE, ...query }: UsageInput): Promise<UsagePageView> {
    const { keys, ledger, now } = this.options
    const today = dayOf(now())
    const { from = dateOfDay(windowOf("month", today).from), to = dateOfDay(today) } = query
    checkDate(from, "from")
    checkDate(to, "to")
    const tenant = query.tenant ?? (key === undefined ? undefined : keys.get(key).tenant)
    const rows = ledger.usage({
      ...{ from, to, limit },
      ...(tenant !== undefined && { tenant }),
      ...(key !== undefined && { keyId: key }),
      ...(model !== undefined && { model }),
      ...(after !== undefined && { after: decodeCursor(after) }),
    })
    return toUsagePageView(rows, limit)
  }

  /** Runs one verification at a time; concurrent callers share its result. */
  async verify(): Promise<LedgerVerdict> {
    this.proof ??= this.options.ledger.verify().finally(() => {
      this.proof = undefined
    })
    const problems = await this.proof
    return { sound: problems.length === 0, problems }
  }
}

function checkDate(text: string, param: string): void {
  if (dayOfDate(text) !== undefined) return
  const message = `\`${param}\` must be a date such as 2026-11-15, not "${excerpt(text)}".`
  throw new GatewayError("invalid_parameter", message, { param })
}
