// A key as it holds at this moment: what it was granted, kept within what its tenant is.
import type { Grant, KeyRow } from "../store/contract.ts"
import { AddressRanges } from "./addresses.ts"
import { modelsWithin, protocolsWithin } from "./scope.ts"

/** A key as its owner may see it: everything but the key itself. */
export type Key = Omit<KeyRow, "hash" | "previousHash" | "previousUntil">

/** Models, protocols and strictness are those in force; numbers are the key's own, for its tenant's are counted apart. */
export interface Caller extends Key {
  /** What all keys of its tenant may do together. */
  readonly tenantGrant: Grant | null
  /** Where it may be used from; null is anywhere. */
  readonly mayComeFrom: AddressRanges | null
}

export function visible({ hash: _, previousHash: __, previousUntil: ___, ...key }: KeyRow): Key {
  return key
}

export function callerOf(row: KeyRow, tenant: Grant | undefined): Caller {
  const key = visible(row)
  return {
    ...key,
    models: modelsWithin(key.models, tenant?.models ?? null),
    protocols: protocolsWithin(key.protocols, tenant?.protocols ?? null),
    strict: key.strict || (tenant?.strict ?? false),
    tenantGrant: tenant ?? null,
    mayComeFrom: key.addresses && new AddressRanges(key.addresses),
  }
}
