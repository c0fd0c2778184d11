// Providers' credentials that were given over the administration port: they rest sealed, bound to the address they
// were given for. A credential never goes anywhere else.
import { Secret } from "../config/secret.ts"
import type { CredentialTable } from "../store/contract.ts"
import type { Sealer } from "./sealing.ts"
import { toldTable } from "./told-table.ts"

interface CredentialsOptions {
  readonly table: CredentialTable
  readonly sealer: Sealer
  readonly now?: () => number
}

export class Credentials {
  private readonly table: CredentialTable

  constructor(private readonly options: CredentialsOptions) {
    this.table = toldTable(options.table)
  }

  set(provider: string, { address, credential }: { address: string; credential: Secret }): void {
    const { sealer, now = Date.now } = this.options
    const sealed = sealer.seal(credential.reveal(), place(provider, address))
    this.table.put({ provider, address, sealed, setAt: now() })
  }

  /** The credential for this provider at this address. One that was given for another address is deleted. */
  find(provider: string, address: string): Secret | undefined {
    const { sealer } = this.options
    const row = this.table.find(provider)
    if (!row) return undefined
    if (row.address !== address) {
      this.table.remove(provider)
      return undefined
    }
    const text = sealer.open(row.sealed, place(provider, address))
    return text === undefined ? undefined : new Secret(text, "administration")
  }

  /** Whether there was one. */
  remove(provider: string): boolean {
    return this.table.remove(provider)
  }
}

function place(provider: string, address: string): string {
  return `credential\n${provider}\n${address}`
}
