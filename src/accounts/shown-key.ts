// A key as it is shown to operators, on the command line and over the administration port: everything but its text.
import type { Key, KeyWish } from "./keys.ts"

export interface ShownKey {
  readonly id: string
  readonly name: string
  readonly tenant: string
  readonly hint: string
  readonly models: readonly string[] | null
  readonly strict: boolean
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
}

/** Its text too, this once. */
export interface ShownMintedKey extends ShownKey {
  readonly key: string
}

/** What somebody who makes a key may ask for. */
export interface AskedKey {
  readonly name: string
  readonly tenant?: string
  readonly models?: readonly string[]
  readonly strict?: boolean
  readonly expires_at?: string
}

export function shownKey({ createdAt, expiresAt, revokedAt, ...key }: Key): ShownKey {
  const time = (value: number) => new Date(value).toISOString()
  const { id, name, tenant, hint, models, strict } = key
  return {
    ...{ id, name, tenant, hint, models, strict },
    created_at: time(createdAt),
    expires_at: expiresAt === null ? null : time(expiresAt),
    revoked_at: revokedAt === null ? null : time(revokedAt),
  }
}

export function wishOf({ expires_at, ...asked }: AskedKey): KeyWish {
  return { ...asked, ...(expires_at !== undefined && { expiresAt: Date.parse(expires_at) }) }
}
