// Providers' credentials that were set over the administration port: stored sealed, and bound to the address they were
// set for. A credential is never sent anywhere else.
import { Secret } from "../../config/secret.ts"
import type { CredentialRow, CredentialTable } from "../../store/contract.ts"
import { withStoreErrors } from "../with-store-errors.ts"
import type { Sealer } from "./sealer.ts"

interface StoredCredentialsOptions {
  readonly table: CredentialTable
  readonly sealer: Sealer
  readonly now?: () => number
}

/** The facts about a credential that are known without opening it. */
export interface StoredCredential {
  readonly provider: string
  readonly setAt: number
  /** The other settings of its entry, as JSON; null if the configuration or the provider's name determines them. */
  readonly settings: string | null
}

interface SetCredential {
  readonly address: string
  readonly credential: Secret
  readonly settings?: string | null
}

export class StoredCredentials {
  private readonly table: CredentialTable

  constructor(private readonly options: StoredCredentialsOptions) {
    this.table = withStoreErrors(options.table)
  }

  set(provider: string, { address, credential, settings = null }: SetCredential): void {
    const { sealer, now = Date.now } = this.options
    const sealed = sealer.seal(credential.reveal(), sealContextOf({ provider, address, settings }))
    this.table.put({ provider, address, sealed, setAt: now(), settings })
  }

  list(): StoredCredential[] {
    return this.table.list().map(({ provider, setAt, settings }) => ({ provider, setAt, settings }))
  }

  /** The credential for this provider at this address. A credential for another address is deleted. */
  find(provider: string, address: string): Secret | undefined {
    const { sealer } = this.options
    const row = this.table.find(provider)
    if (!row) return undefined
    if (row.address !== address) {
      this.table.remove(provider)
      return undefined
    }
    const text = sealer.open(row.sealed, sealContextOf(row))
    return text === undefined ? undefined : new Secret(text, "store")
  }

  /** False if there was none. */
  remove(provider: string): boolean {
    return this.table.remove(provider)
  }
}

/** Credentials that were sealed before settings existed keep their context. */
function sealContextOf({
  provider,
  address,
  settings,
}: Pick<CredentialRow, "provider" | "address" | "settings">): string {
  return `credential\n${provider}\n${address}${settings === null ? "" : `\n${settings}`}`
}
