// Admin operations on the store: for the administration's routes, and for the CLI when no gateway runs.
import type { KeyRegistry } from "../../access/key-registry.ts"
import type { Ledger } from "../../ledger/ledger.ts"
import { KeyService } from "./key-service.ts"
import { LedgerService } from "./ledger-service.ts"
import { SuspenseService } from "./suspense-service.ts"
import { TenantService } from "./tenant-service.ts"
import type { SyncStore } from "./with-sync.ts"

interface AdminServiceOptions {
  readonly keys: KeyRegistry
  readonly ledger: Ledger
  readonly sync: SyncStore
  readonly now?: () => number
}

export class AdminService {
  readonly keys: KeyService
  readonly tenants: TenantService
  readonly ledger: LedgerService
  readonly suspense: SuspenseService

  constructor({ keys, ledger, sync, now = Date.now }: AdminServiceOptions) {
    this.keys = new KeyService({ keys, ledger, sync, now })
    this.tenants = new TenantService({ tenants: keys.tenants, ledger, sync, now })
    this.ledger = new LedgerService({ keys, ledger, now })
    this.suspense = new SuspenseService({ ledger, receipts: this.ledger, sync })
  }
}
