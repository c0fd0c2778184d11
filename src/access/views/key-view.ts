// A key as operators see it, on the command line and over the administration port: everything except its text.
import type { ModelNameMapping } from "../../store/contract.ts"
import { type BalanceSummary, type BalanceView, toBalanceView } from "../balance-service.ts"
import type { ApiKey, KeyChange } from "../key-registry.ts"
import { type GrantInput, type GrantView, omitUndefined, readGrantInput, toGrantView } from "./grant-view.ts"

export interface KeyView extends GrantView, BalanceView {
  readonly id: string
  readonly name: string
  readonly tenant: string
  readonly hint: string
  readonly addresses: readonly string[] | null
  readonly keep_answers: boolean
  readonly own_balance: boolean
  readonly strict_balance: boolean
  readonly hedge: boolean
  readonly model_map: readonly ModelNameMapping[] | null
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
}

/** A key's view with its text, which is shown only once. */
export interface MintedKeyView extends KeyView {
  readonly key: string
  /** For a rotated key, the time until which its old text is valid. */
  readonly previous_until?: string
}

/** The body of a key update; null removes a bound. */
export interface KeyChangeInput extends GrantInput {
  readonly name?: string
  readonly tenant?: string
  readonly addresses?: readonly string[] | null
  readonly keep_answers?: boolean | null
  readonly own_balance?: boolean | null
  readonly strict_balance?: boolean | null
  readonly hedge?: boolean | null
  readonly model_map?: readonly ModelNameMapping[] | null
  readonly expires_at?: string | null
}

/** The body of a key creation. */
export interface KeyInput extends KeyChangeInput {
  readonly name: string
  /** The initial balance, in USD. */
  readonly balance?: string
}

/** A key's view, with the balance that it pays from. */
export function toKeyView(
  { id, name, tenant, hint, addresses, ...key }: ApiKey,
  balance: BalanceSummary | undefined,
): KeyView {
  const time = (value: number) => new Date(value).toISOString()
  return {
    ...{ id, name, tenant, hint, addresses },
    ...toGrantView(key),
    keep_answers: key.keepAnswers,
    own_balance: key.ownBalance,
    ...toBalanceView(balance),
    strict_balance: key.strictBalance,
    hedge: key.hedge,
    model_map: key.modelMap,
    created_at: time(key.createdAt),
    expires_at: key.expiresAt === null ? null : time(key.expiresAt),
    revoked_at: key.revokedAt === null ? null : time(key.revokedAt),
  }
}

/** Every member except the paying account, which the ledger must open first. */
export function readKeyChange(input: KeyChangeInput) {
  const { name, tenant, addresses, keep_answers, strict_balance, hedge, model_map, expires_at, ...grant } = input
  const expiresAt = expires_at && Date.parse(expires_at)
  const flags = { keepAnswers: keep_answers, strictBalance: strict_balance }
  const change = { name, tenant, addresses, ...flags, hedge, modelMap: model_map, expiresAt }
  return { ...omitUndefined(change), ...readGrantInput(grant) } as KeyChange
}
