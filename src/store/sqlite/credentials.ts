import type { Database } from "bun:sqlite"
import type { CredentialRow, CredentialTable } from "../contract.ts"

interface Columns {
  readonly provider: string
  readonly address: string
  readonly sealed: string
  readonly set_at: bigint
}

export function credentialTable(database: Database): CredentialTable {
  const put = database.query(
    `INSERT INTO credentials VALUES ($provider, $address, $sealed, $setAt)
     ON CONFLICT (provider) DO UPDATE SET address = $address, sealed = $sealed, set_at = $setAt`,
  )
  const find = database.query<Columns, [string]>("SELECT * FROM credentials WHERE provider = ?1")
  const remove = database.query("DELETE FROM credentials WHERE provider = ?1")
  return {
    put: ({ provider, address, sealed, setAt }) =>
      void put.run({ $provider: provider, $address: address, $sealed: sealed, $setAt: setAt }),
    find: (provider) => fromColumns(find.get(provider)),
    remove: (provider) => remove.run(provider).changes > 0,
  }
}

function fromColumns(columns: Columns | null): CredentialRow | undefined {
  if (!columns) return undefined
  const { provider, address, sealed, set_at } = columns
  return { provider, address, sealed, setAt: Number(set_at) }
}
