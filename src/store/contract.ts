// The interface of durable state. Times are milliseconds since 1970.

/** Calendar periods (UTC) that a budget may limit. */
export const BUDGET_PERIODS = ["day", "week", "month", "total"] as const
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number]

/** Spending limits in nano-USD. */
export type BudgetLimits = { readonly [Period in BudgetPeriod]?: bigint }

/** The permissions and limits of a key, or of all keys of a tenant together. */
export interface Grant {
  /** Patterns of the models that may be called; null is all. */
  readonly models: readonly string[] | null
  /** Ids or families of the allowed protocols; null is all. */
  readonly protocols: readonly string[] | null
  /** Null is the gateway's default for a key, and no limit for a tenant. */
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  /** Limit of concurrent requests. */
  readonly concurrentRequests: number | null
  /** Refused rather than translated with a loss of meaning. */
  readonly strict: boolean
  readonly budgets: BudgetLimits
}

/** A pattern of requested names, with `*` for any run of characters, and the model that replaces them. */
export interface ModelNameMapping {
  readonly from: string
  readonly to: string
}

export interface KeyRow extends Grant {
  readonly id: string
  readonly name: string
  readonly tenant: string
  /** Keyed hash of the key; the key itself is not stored. */
  readonly hash: string
  /** The key's last characters, by which its owner recognises it. */
  readonly hint: string
  /** Addresses or ranges that may use it; null is all. */
  readonly addresses: readonly string[] | null
  /** True if responses are stored, so that a repeated request gets the first one's response. */
  readonly keepAnswers: boolean
  /** True if the key pays from its own balance. */
  readonly ownBalance: boolean
  /** True if the maximum cost of a response is held before the call, however long it may be. */
  readonly strictBalance: boolean
  /** True if a slow first target is hedged with a second. */
  readonly hedge: boolean
  /** Replacements for requested models, the first match counts; null is none. */
  readonly modelMap: readonly ModelNameMapping[] | null
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  /** The hash before the last rotation, and the time until which it is accepted. */
  readonly previousHash: string | null
  readonly previousUntil: number | null
}

export interface KeyTable {
  insert(row: KeyRow): void
  /** The row with this current or previous hash. */
  findByHash(hash: string): KeyRow | undefined
  findById(id: string): KeyRow | undefined
  list(): KeyRow[]
  count(): number
  replace(row: KeyRow): void
}

/** An owner of keys. A tenant that keys name and that has no row has no limits. */
export interface TenantRow extends Grant {
  readonly name: string
  readonly createdAt: number
}

export interface TenantTable {
  insert(row: TenantRow): void
  find(name: string): TenantRow | undefined
  list(): TenantRow[]
  replace(row: TenantRow): void
}

/** A provider's credential, sealed for one address. */
export interface CredentialRow {
  readonly provider: string
  readonly address: string
  readonly sealed: string
  readonly setAt: number
  /** The other settings of its entry, as JSON; null if the configuration or the provider's name determines them. */
  readonly settings: string | null
}

export interface CredentialTable {
  put(row: CredentialRow): void
  list(): CredentialRow[]
  find(provider: string): CredentialRow | undefined
  /** False if there was none. */
  remove(provider: string): boolean
}

/** An account of the ledger. The free balance is posted − held − floor. */
export interface LedgerAccountRow {
  readonly id: number
  readonly name: string
  /** The sum of its entries. */
  readonly postedNano: bigint
  /** The sum of its open holds. */
  readonly heldNano: bigint
  /** Null is unlimited. */
  readonly floorNano: bigint | null
  /** Charges for reported usage that neither its holds nor its balance covered, and that no top-up has paid yet. */
  readonly owedNano: bigint
}

/** The gateway's own accounts. `debt` is the negative sum of all debts. */
export type GatewayAccount = "funding" | "revenue" | "suspense" | "write-off" | "debt"

/** Holds and entries change an account; no transaction ends with one below its floor. */
interface LedgerAccountTable {
  find(name: string): LedgerAccountRow | undefined
  /** The paying account: the key's own if it is limited, else its tenant's. */
  payer(keyId: string, tenant: string): LedgerAccountRow | undefined
  get(id: number): LedgerAccountRow
  insert(name: string, floorNano: bigint | null): LedgerAccountRow
  setFloor(id: number, floorNano: bigint | null): void
}

/** The amount held on the paying account for an open request, until an entry ends it. */
export interface HoldRow {
  readonly requestId: string
  readonly accountId: number
  readonly tenant: string
  readonly keyId: string
  readonly amountNano: bigint
  /** The known cost so far. */
  readonly lowerBoundNano: bigint
  /** The UTC day it counts for, as days since 1970. */
  readonly day: number
  /** The process start that made it. */
  readonly epoch: number
  readonly at: number
  /** The budgets that it must keep within, while the process that made it runs. */
  readonly budgets: readonly HeldBudget[]
}

interface HeldBudget {
  readonly of?: "key" | "tenant"
  readonly period: keyof BudgetLimits
  readonly limitNano: bigint
}

interface HoldTable {
  /** False, without a write, if the request is already held or has ended. */
  insert(row: HoldRow): boolean
  /** Undefined if it is not open. */
  find(requestId: string): HoldRow | undefined
  grow(requestId: string, byNano: bigint): void
  /** Does nothing if the hold is not open, or a higher bound is known. */
  note(requestId: string, lowerBoundNano: bigint): void
  /** The oldest first, so that it is paid first if not all can be. */
  ofEarlierEpochs(epoch: number, limit: number): HoldRow[]
}

/** The last two end the suspense of a recovered request: all of it is returned, or some of it is charged. */
export type EntryKind = "settled" | "released" | "recovered" | "top-up" | "suspense-returned" | "suspense-settled"

/** The amounts of an entry by account. Their sum is always zero. */
export interface EntryAmounts {
  /** The amount on the account that pays or is topped up. */
  readonly account: bigint
  readonly funding: bigint
  readonly revenue: bigint
  readonly suspense: bigint
  readonly writeOff: bigint
  /** Negative: new debt of the account. Positive: repaid debt. */
  readonly debt: bigint
}

/** Spending that counts for budgets and usage, including debt. */
export function spentNano({ account, debt }: EntryAmounts): bigint {
  return debt === 0n ? -account : -account - debt
}

/** The counted quantities of a request. */
export const USE_COUNTS = [
  "input",
  "cacheRead",
  "cacheWrite",
  "cacheWrite1h",
  "audioInput",
  "imageInput",
  "output",
  "reasoning",
  "audioOutput",
  "imageOutput",
  "images",
] as const
type UseCount = (typeof USE_COUNTS)[number]
/** Absent counts are unknown. */
export type UseCounts = Readonly<Partial<Record<UseCount, number>>>

/** The usage of an entry, its model and provider, and the version of its prices. */
export interface EntryUsage {
  readonly model: string
  readonly provider: string
  readonly counts: UseCounts
  readonly priceVersion: string | null
}

/**
 * One booking. It has a request or an event, each of which is booked once; the event of an entry that ends suspense is
 * the recovered request.
 */
export interface EntryRow {
  readonly kind: EntryKind
  readonly requestId: string | null
  readonly eventId: string | null
  readonly tenant: string | null
  readonly keyId: string | null
  /** The day of the hold it ends. */
  readonly day: number
  readonly at: number
  readonly accountId: number
  readonly nano: EntryAmounts
  /** The held amount when it was booked; null if there was none, or it is no longer known. */
  readonly heldNano: bigint | null
  /** The client's protocol; null if unknown. */
  readonly protocol: string | null
  /** Null if nothing was used. */
  readonly use: EntryUsage | null
}

export interface BookedEntry extends EntryRow {
  readonly id: bigint
}

/**
 * Append-only: the store itself refuses to change or delete entries, and to insert entries that do not sum to zero.
 */
interface EntryTable {
  /** Ends the hold of its request. The facts, a JSON object, may be dropped later; entries stay. */
  insert(row: EntryRow, facts: string | null): void
  ofRequest(requestId: string): BookedEntry | undefined
  ofEvent(eventId: string): BookedEntry | undefined
  get(id: bigint): BookedEntry | undefined
}

/** Spending and holds by UTC day: from one day to another, both included; without days, over all time. */
interface SpendTable {
  ofKey(keyId: string, days?: DayRange): bigint
  ofTenant(tenant: string, days?: DayRange): bigint
  /** The given day, or a later one on which the key or its tenant has spending or holds. */
  latestDay(spender: { readonly keyId: string; readonly tenant: string }, day: number): number
}

/** A budget that reported usage has exceeded, in the last period in which it did. */
export interface OvershootRow {
  /** `key:K` or `tenant:T`. */
  readonly holder: string
  readonly period: Exclude<keyof BudgetLimits, "total">
  /** The first day of the period. */
  readonly from: number
  /** The limit in force then. */
  readonly limitNano: bigint
  /** The overshoot of previous periods that counted in this one. */
  readonly carriedNano: bigint
  /** The largest excess of reported usage in this period. */
  readonly overNano: bigint
}

interface OvershootTable {
  find(holder: string, period: OvershootRow["period"]): OvershootRow | undefined
  put(row: OvershootRow): void
}

/** The suspense of a recovered request. */
export interface SuspenseRow {
  readonly requestId: string
  /** The entry that recovered it. */
  readonly entry: bigint
  readonly at: number
  /** The entry that ended it; null while it is open. */
  readonly endedBy: bigint | null
}

interface SuspenseTable {
  find(requestId: string): SuspenseRow | undefined
  /** Open rows after an entry, the oldest first. */
  page(after: bigint, limit: number): SuspenseRow[]
  countOpen(): number
}

/** Days since 1970. */
export interface DayRange {
  readonly from: number
  readonly to: number
}

export interface UsageKey {
  readonly day: number
  readonly tenant: string
  readonly keyId: string
  readonly model: string
  readonly provider: string
}

export interface UsageRow extends UsageKey, Readonly<Record<UseCount, number>> {
  readonly requests: number
  readonly paidNano: bigint
}

/** Both days are included. */
export interface UsageFilter extends DayRange {
  readonly tenant?: string | undefined
  /** Requires `tenant`. */
  readonly keyId?: string | undefined
  readonly model?: string | undefined
  /** The last row of the previous page. */
  readonly after?: UsageKey | undefined
  readonly limit: number
}

/** The usage totals of the entries. */
export interface UsageTable {
  page(filter: UsageFilter): UsageRow[]
  /** Drops flushed totals before a day, and returns their number. */
  dropBefore(day: number, limit: number): number
}

export interface ReceiptTable {
  /** The facts of an entry, an empty object if it has none; undefined if they were dropped. */
  find(entryId: bigint): string | undefined
  /** Drops the facts of entries before a time, and returns their number. */
  dropBefore(time: number, limit: number): number
}

/** Insert-only. */
export interface PriceTable {
  /** An existing version stays. */
  insert(version: string, pricing: string): void
  find(version: string): string | undefined
  page(after: string, limit: number): { readonly version: string; readonly pricing: string }[]
}

export interface LedgerProblem {
  /** The violated invariant, such as `I2`. */
  readonly invariant: string
  readonly what: string
}

/** One audit of the whole ledger, in steps; between them the ledger may go on. */
export interface LedgerAudit {
  /** Sums up to `limit` more entries; false when none is left. */
  sum(limit: number): boolean
  /** Compares up to `limit` more rows with the sums; false when none is left. */
  compare(limit: number): boolean
  readonly problems: readonly LedgerProblem[]
  close(): void
}

/** All changes happen within a transaction. Reads are exact at all times. */
export interface LedgerTable {
  readonly accounts: LedgerAccountTable
  readonly holds: HoldTable
  readonly entries: EntryTable
  readonly spend: SpendTable
  readonly overshoots: OvershootTable
  readonly suspense: SuspenseTable
  readonly usage: UsageTable
  readonly receipts: ReceiptTable
  readonly prices: PriceTable
  /**
   * Runs `work`; when this returns, all of it is durable, and when it throws, none of it is. A StoreError means that
   * the store failed; any other error is `work`'s.
   */
  transaction<Result>(work: () => Result): Result
  /** Counts one more start of the process. */
  nextEpoch(): number
  /** Writes a mark that nothing depends on: within a transaction, it shows if the store accepts writes. */
  touch(): void
  /** True if enough entries are unflushed that a flush should begin. */
  flushIsDue(): boolean
  /** Begins to flush all entries so far into the totals; a flush in progress continues. */
  beginFlush(): void
  /** Continues the flush for about this long, in its own transaction; false if there is nothing more to do. */
  flush(forMs: number): boolean
  /** Merges the runs of many flushes, which speeds up lookups; returns like `flush`. Not urgent. */
  compact(forMs: number): boolean
  /** Holds made before `openSince` count as forgotten. */
  audit(openSince: number): LedgerAudit
}

/** A request that was answered under an idempotency key. */
export interface IdempotencyRow {
  /** The tenant whose share of the bounds it uses. */
  readonly tenant: string
  /** The hash of the API key's id and the idempotency key, which itself is not stored. */
  readonly hash: string
  /** Digest of the request. */
  readonly bodyHash: string
  readonly requestId: string
  readonly at: number
}

export interface SealedResponse {
  readonly status: number
  readonly contentType: string
  readonly sealed: Uint8Array
}

/** Written within the ledger's transaction, so that a request is both answered and paid for, or neither. */
export interface IdempotencyTable {
  find(hash: string): IdempotencyRow | undefined
  /** Undefined if no response was stored, or it was dropped. */
  findAnswer(hash: string): SealedResponse | undefined
  /** Replaces a row with the same hash. */
  insert(row: IdempotencyRow, answer?: SealedResponse): void
  /** Drops those of the `limit` oldest rows that are from before a time, if the oldest is; returns their number. */
  dropBefore(time: number, limit: number): number
  /**
   * Drops the oldest requests of a tenant, and of the remaining ones the oldest responses, until it is within its
   * bounds. If all tenants together exceed theirs, the largest tenant drops its oldest.
   */
  keepWithin(bounds: { readonly ofTenant: IdempotencyBounds; readonly ofAll: IdempotencyBounds }, tenant: string): void
}

/** Limits of remembered requests, and of the sealed bytes of their responses. */
export interface IdempotencyBounds {
  readonly rows: number
  readonly answerBytes: number
}

/** A stored response of a tenant. Ids are unique within a tenant. */
export interface ResponseRow {
  readonly tenant: string
  readonly id: string
  readonly at: number
  readonly sealed: Uint8Array
}

/** Limits of stored responses, and of their sealed bytes. */
export interface ResponseBounds {
  readonly rows: number
  readonly bytes: number
}

export interface ResponseTable {
  find(tenant: string, id: string): ResponseRow | undefined
  /** The response with this item; the newest, if there are several. */
  findByItem(tenant: string, item: string): ResponseRow | undefined
  /** `items` are the ids of its items. */
  insert(row: ResponseRow, items: readonly string[]): void
  /** False if there was none. */
  remove(tenant: string, id: string): boolean
  /** Drops those of the `limit` oldest rows that are from before a time, if the oldest is; returns their number. */
  dropBefore(time: number, limit: number): number
  /**
   * Drops the oldest responses of a tenant until it is within its bounds. If all tenants together exceed theirs, the
   * largest tenant drops its oldest, but the newest of this tenant goes last.
   */
  keepWithin(bounds: { readonly ofTenant: ResponseBounds; readonly ofAll: ResponseBounds }, tenant: string): void
}

export interface Store {
  readonly keys: KeyTable
  readonly tenants: TenantTable
  readonly credentials: CredentialTable
  readonly ledger: LedgerTable
  readonly idempotency: IdempotencyTable
  readonly responses: ResponseTable
  readonly secrets: SecretMarks
  /** Resolves when everything written before survives a power loss; rejects with a StoreError otherwise. */
  sync(): Promise<void>
  close(): void
}

/** A mark by which a store recognises the secret of its key hashes. It does not reveal the secret. */
export interface SecretMarks {
  read(): string | undefined
  write(mark: string): void
}

/** The store cannot be opened or does not work; the message states the cause and the remedy. */
export class StoreError extends Error {
  override readonly name = "StoreError"
}
