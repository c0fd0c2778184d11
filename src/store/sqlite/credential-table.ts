import type { Database } from "bun:sqlite"
import type { CredentialRow, CredentialTable } from "../contract.ts"

interface CredentialColumns {
  readonly provider: string
  readonly address: string
  readonly sealed: string
  readonly set_at: bigint
  readonly settings: string | null
}

export function credentialTable(database: Database): CredentialTable {
  const put = database.query(
    `INSERT INTO credentials VALUES ($provider, $address, $sealed, $setAt, $settings)
     ON CONFLICT (provider)
     DO UPDATE SET address = $address, sealed = $sealed, set_at = $setAt, settings = $settings`,
  )
  const list = database.query<CredentialColumns, []>("SELECT * FROM credentials ORDER BY provider")
  const find = database.query<CredentialColumns, [string]>("SELECT * FROM credentials WHERE provider = ?1")
  const remove = database.query("DELETE FROM credentials WHERE provider = ?1")
  return {
    put: ({ provider, address, sealed, setAt, settings }) =>
      void put.run({ $provider: provider, $address: address, $sealed: sealed, $setAt: setAt, $settings: settings }),
    list: () => list.all().map(toCredentialRow),
    find: (provider) => {
      const columns = find.get(provider)
      return columns ? toCredentialRow(columns) : undefined
    },
    remove: (provider) => remove.run(provider).changes > 0,
  }
}

function toCredentialRow({ provider, address, sealed, set_at, settings }: CredentialColumns): CredentialRow {
  return { provider, address, sealed, setAt: Number(set_at), settings }
}
