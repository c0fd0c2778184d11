// The ledger of a stopped gateway, read from the store's tables: entries and open holds.
import { Database } from "bun:sqlite"
import { join } from "node:path"
import { loadConfig } from "../../src/config/load-config.ts"
import { knownProviders } from "../../src/gateway-table.ts"
import { openAdminService } from "../../src/open-store.ts"
import type { EntryKind } from "../../src/store/contract.ts"

export interface BookedEntry {
  readonly id: bigint
  readonly kind: EntryKind
  readonly request: string | null
  readonly tenant: string | null
  readonly key: string | null
  /** Its name, such as `key:K`, and what nothing may take it below; null: not limited. */
  readonly account: string
  readonly floor: bigint | null
  /** On that account: what was paid, negative, or topped up. */
  readonly amount: bigint
  readonly funding: bigint
  readonly revenue: bigint
  readonly suspense: bigint
  readonly writeOff: bigint
  /** Below 0: what the account owes from then on; above: what it has paid of that. */
  readonly debt: bigint
  /** The hold; null if there was none or it is unknown. */
  readonly held: bigint | null
}

export interface OpenHold {
  readonly request: string
  readonly key: string
  readonly amount: bigint
  readonly lowerBound: bigint
  /** Made by an earlier run than the last one. */
  readonly isForgotten: boolean
}

export interface OfflineLedger {
  readonly entries: readonly BookedEntry[]
  readonly holds: readonly OpenHold[]
  /** The sum of all accounts. */
  readonly postedNano: bigint
  /** The problems that the ledger's own verification finds. */
  readonly problems: readonly { readonly invariant: string; readonly what: string }[]
}

const ENTRIES = `
  SELECT e.id, e.kind, e.request, e.tenant, e.key, a.name AS account, a.floor, e.amount, e.funding, e.revenue, e.suspense,
    e.write_off AS writeOff, e.debt, e.held
  FROM entries e LEFT JOIN ledger_accounts a ON a.id = e.account
  ORDER BY e.id`
const HOLDS = `
  SELECT request, key, amount, lower_bound AS lowerBound,
    epoch < (SELECT value FROM ledger_marks WHERE name = 'epoch') AS isForgotten
  FROM holds`
const POSTED = "SELECT coalesce(sum(posted), 0) AS nano FROM ledger_accounts"

type OfflineAdmin = ReturnType<typeof openAdminService>["adminService"]

/** An operator's action while no gateway runs. */
export async function withOfflineAdmin<Result>(
  dataDir: string,
  act: (adminService: OfflineAdmin) => Promise<Result>,
): Promise<Result> {
  const sources = { flags: { data: dataDir }, environment: {}, workingDir: dataDir, knownProviders }
  const { adminService, close } = openAdminService(loadConfig(sources), {})
  try {
    return await act(adminService)
  } finally {
    close()
  }
}

/** The state that the gateway left: opening it for writing would recover open holds. */
export async function readOfflineLedger(dataDir: string): Promise<OfflineLedger> {
  const left = withTables(dataDir, (database) => ({
    entries: database.query<BookedEntry, []>(ENTRIES).all(),
    postedNano: database.query<{ nano: bigint }, []>(POSTED).get()?.nano ?? 0n,
  }))
  const holds = openHolds(dataDir)
  const { problems } = await withOfflineAdmin(dataDir, (adminService) => adminService.ledger.verify())
  return { ...left, holds, problems }
}

export function openHolds(dataDir: string): OpenHold[] {
  type HoldColumns = Omit<OpenHold, "isForgotten"> & { readonly isForgotten: bigint }
  const columns = withTables(dataDir, (database) => database.query<HoldColumns, []>(HOLDS).all())
  return columns.map((hold) => ({ ...hold, isForgotten: hold.isForgotten !== 0n }))
}

function withTables<Result>(dataDir: string, read: (database: Database) => Result): Result {
  const database = new Database(join(dataDir, "trivium.db"), { readwrite: true, safeIntegers: true })
  try {
    return read(database)
  } finally {
    database.close()
  }
}
