// What an operator may ask for, answered from the store: for the administration's routes, and for the command line where
// no gateway runs.
import type { Keys } from "../accounts/keys.ts"
import type { Ledger } from "../ledger/ledger.ts"
import { BookDesk } from "./book-desk.ts"
import { KeyDesk } from "./key-desk.ts"
import { SuspenseDesk } from "./suspense-desk.ts"
import type { Sync } from "./synced.ts"
import { TenantDesk } from "./tenant-desk.ts"

interface DeskOptions {
  readonly keys: Keys
  readonly ledger: Ledger
  readonly sync: Sync
  readonly now?: () => number
}

export class Desk {
  readonly keys: KeyDesk
  readonly tenants: TenantDesk
  readonly books: BookDesk
  readonly suspense: SuspenseDesk

  constructor({ keys, ledger, sync, now = Date.now }: DeskOptions) {
    this.keys = new KeyDesk({ keys, ledger, sync, now })
    this.tenants = new TenantDesk({ tenants: keys.tenants, ledger, sync, now })
    this.books = new BookDesk({ keys, ledger, now })
    this.suspense = new SuspenseDesk({ ledger, books: this.books, sync })
  }
}
