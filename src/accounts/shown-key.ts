// A key as it is shown to operators, on the command line and over the administration port: everything but its text.
import type { Key, KeyChange, KeyWish } from "./keys.ts"
import { type AskedGrant, given, grantWishOf, type ShownGrant, shownGrant } from "./shown-grant.ts"

export interface ShownKey extends ShownGrant {
  readonly id: string
  readonly name: string
  readonly tenant: string
  readonly hint: string
  readonly addresses: readonly string[] | null
  readonly keep_answers: boolean
  readonly own_balance: boolean
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
}

/** Its text too, this once. */
export interface ShownMintedKey extends ShownKey {
  readonly key: string
}

/** What somebody who changes a key may ask for; null takes a bound away. */
export interface AskedChange extends AskedGrant {
  readonly name?: string
  readonly tenant?: string
  readonly addresses?: readonly string[] | null
  readonly keep_answers?: boolean | null
  readonly own_balance?: boolean | null
  readonly expires_at?: string | null
}

/** What somebody who makes a key may ask for. */
export interface AskedKey extends AskedChange {
  readonly name: string
  /** What it has to spend at first, in USD. */
  readonly balance?: string
}

export function shownKey({ id, name, tenant, hint, addresses, ...key }: Key): ShownKey {
  const time = (value: number) => new Date(value).toISOString()
  return {
    ...{ id, name, tenant, hint, addresses },
    ...shownGrant(key),
    keep_answers: key.keepAnswers,
    own_balance: key.ownBalance,
    created_at: time(key.createdAt),
    expires_at: key.expiresAt === null ? null : time(key.expiresAt),
    revoked_at: key.revokedAt === null ? null : time(key.revokedAt),
  }
}

export function wishOf({ name, ...asked }: AskedKey): KeyWish {
  return { name, ...changeOf(asked) }
}

export function changeOf({ name, tenant, addresses, keep_answers, own_balance, expires_at, ...asked }: AskedChange) {
  const expiresAt = expires_at && Date.parse(expires_at)
  const change = { name, tenant, addresses, keepAnswers: keep_answers, ownBalance: own_balance, expiresAt }
  return { ...given(change), ...grantWishOf(asked) } as KeyChange
}
