// What is durable. Times are milliseconds since 1970.

export interface KeyRow {
  readonly id: string
  readonly name: string
  readonly tenant: string
  /** Keyed hash of the key; the key itself is nowhere. */
  readonly hash: string
  /** The key's last characters, by which its owner knows it again. */
  readonly hint: string
  /** Patterns of the models it may call; null is all. */
  readonly models: readonly string[] | null
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  /** The hash before the last rotation, and until when it is still taken. */
  readonly previousHash: string | null
  readonly previousUntil: number | null
  /** Rather refused than changed in meaning on the way to a provider of another protocol. */
  readonly strict: boolean
}

export interface KeyTable {
  insert(row: KeyRow): void
  /** The row whose current or previous hash this is. */
  findByHash(hash: string): KeyRow | undefined
  findById(id: string): KeyRow | undefined
  list(): KeyRow[]
  count(): number
  replace(row: KeyRow): void
}

/** A provider's credential, sealed for one address. */
export interface CredentialRow {
  readonly provider: string
  readonly address: string
  readonly sealed: string
  readonly setAt: number
}

export interface CredentialTable {
  put(row: CredentialRow): void
  find(provider: string): CredentialRow | undefined
  /** Whether there was one. */
  remove(provider: string): boolean
}

export interface Store {
  readonly keys: KeyTable
  readonly credentials: CredentialTable
  close(): void
}

/** The store cannot be opened; the message says why and what to do. */
export class StoreError extends Error {
  override readonly name = "StoreError"
}
