// Providers' credentials that were given over the administration port: they rest sealed, bound to the address they
// were given for. A credential never goes anywhere else.
import { Secret } from "../config/secret.ts"
import type { CredentialTable } from "../store/contract.ts"
import type { Sealer } from "./sealing.ts"

interface CredentialsOptions {
  readonly table: CredentialTable
  readonly sealer: Sealer
  readonly now?: () => number
}

export class Credentials {
  constructor(private readonly options: CredentialsOptions) {}

  set(provider: string, { address, credential }: { address: string; credential: Secret }): void {
    const { table, sealer, now = Date.now } = this.options
    const sealed = sealer.seal(credential.reveal(), place(provider, address))
    table.put({ provider, address, sealed, setAt: now() })
  }

  /** The credential for this provider at this address. One that was given for another address is deleted. */
  find(provider: string, address: string): Secret | undefined {
    const { table, sealer } = this.options
    const row = table.find(provider)
    if (!row) return undefined
    if (row.address !== address) {
      table.remove(provider)
      return undefined
    }
    const text = sealer.open(row.sealed, place(provider, address))
    return text === undefined ? undefined : new Secret(text)
  }

  /** Whether there was one. */
  remove(provider: string): boolean {
    return this.options.table.remove(provider)
  }
}

function place(provider: string, address: string): string {
  return `credential\n${provider}\n${address}`
}
