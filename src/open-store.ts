// Opens the store with its secrets and ledger, and the administration on it for commands without a running gateway; a
// part of the composition root.
import { KeyRegistry } from "./access/key-registry.ts"
import { loadHashingSecrets } from "./access/secrets/hashing-secret.ts"
import { Sealer } from "./access/secrets/sealer.ts"
import { StoredCredentials } from "./access/secrets/stored-credentials.ts"
import { AdminService } from "./admin/services/admin-service.ts"
import { ProviderCredentials } from "./administration.ts"
import type { GatewayConfig } from "./config/config.ts"
import type { Secret } from "./config/secret.ts"
import { buildTable, providerTypes } from "./gateway-table.ts"
import { Ledger } from "./ledger/ledger.ts"
import { ProviderService } from "./provider-service.ts"
import type { Store } from "./store/contract.ts"
import { openSqlite } from "./store/sqlite/open-sqlite.ts"
import { networkSend } from "./transport/http-client.ts"

export const CONFIG_FILE = "trivium.yaml"
const HOUR_MS = 3_600_000

export type ProcessEnvironment = Readonly<Record<string, string | undefined>>

interface OpenStoreOptions {
  /** Called with a description of lost data; without it, the store refuses to open after a loss. */
  readonly onLoss?: ((what: string) => void) | undefined
}

/** The store and the secrets its keys were hashed with; closes the store if the secrets are missing. */
export function openStore(
  config: GatewayConfig,
  environment: ProcessEnvironment,
  { onLoss }: OpenStoreOptions,
): { store: Store; secrets: Secret[] } {
  const store = openSqlite(config.storePath, { onLoss })
  try {
    const keyCount = () => store.keys.count()
    const { dataDir } = config
    return { store, secrets: loadHashingSecrets({ dataDir, environment, marks: store.secrets, keyCount, onLoss }) }
  } catch (thrown) {
    store.close()
    throw thrown
  }
}

export function openLedger(store: Store, { ledger: { suspenseHours } }: GatewayConfig): Ledger {
  return new Ledger({ table: store.ledger, returnSuspenseAfterMs: suspenseHours * HOUR_MS })
}

interface OpenAdminOptions extends OpenStoreOptions {
  /** Reads the configuration again, or the given text instead. */
  readonly readConfig?: (text?: string) => GatewayConfig
  readonly configFile?: string
}

export interface OfflineAdmin {
  readonly adminService: AdminService & { providers: ProviderService }
  readonly keys: KeyRegistry
  readonly close: () => void
}

/** Keys, ledger and providers of this configuration, in the state a starting gateway would find. */
export function openAdminService(
  config: GatewayConfig,
  environment: ProcessEnvironment,
  options: OpenAdminOptions = {},
): OfflineAdmin {
  const { readConfig = () => config, configFile = CONFIG_FILE } = options
  const { store, secrets } = openStore(config, environment, options)
  const ledger = openLedger(store, config)
  ledger.recover()
  const keys = new KeyRegistry({ table: store.keys, tenants: store.tenants, balances: ledger, secrets })
  const sync = () => store.sync()
  const storedCredentials = new StoredCredentials({ table: store.credentials, sealer: new Sealer(secrets) })
  const credentials = new ProviderCredentials(storedCredentials, providerTypes)
  const providers = new ProviderService({
    credentials,
    table: () => buildTable(credentials.withCredentials(config), { send: networkSend(config.upstream) }),
    config: () => config,
    onChange: () => {},
    sync,
    readConfig,
    configFile,
  })
  return {
    adminService: Object.assign(new AdminService({ keys, ledger, sync }), { providers }),
    keys,
    close: () => {
      ledger.stop()
      store.close()
    },
  }
}
