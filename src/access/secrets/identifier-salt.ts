// Salts the identifiers that callers send to providers for their users and caches. Tenants share accounts at a
// provider, so identifiers leave as keyed hashes: one tenant can neither name nor guess another's.
import { createHmac } from "node:crypto"
import type { Secret } from "../../config/secret.ts"

const MAX_KNOWN = 10_000

export class IdentifierSalt {
  private readonly known = new Map<string, string>()
  private readonly key: string

  constructor(secret: Secret) {
    this.key = `identifiers\n${secret.reveal()}`
  }

  /** Deterministic per tenant and value; 47 characters, and every provider accepts 64. */
  salt(tenant: string, value: string): string {
    const name = `${tenant}\n${value}`
    const known = this.known.get(name)
    if (known !== undefined) return known
    const salted = `trv-${createHmac("sha256", this.key).update(name).digest("base64url")}`
    if (this.known.size >= MAX_KNOWN) this.known.clear()
    this.known.set(name, salted)
    return salted
  }
}
