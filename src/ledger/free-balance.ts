// The free balance of an account.
import type { LedgerAccountRow } from "../store/contract.ts"

type AccountFunds = Pick<LedgerAccountRow, "postedNano" | "heldNano" | "floorNano" | "owedNano">

/** More than any account can spend. */
const UNLIMITED = 2n ** 63n

/** The free balance: nothing while a debt is open. */
export function freeOf(account: AccountFunds): bigint {
  return account.owedNano > 0n && account.floorNano !== null ? 0n : unheldOf(account)
}

/** The balance that is neither held nor below the floor. */
export function unheldOf({ postedNano, heldNano, floorNano }: Omit<AccountFunds, "owedNano">): bigint {
  return floorNano === null ? UNLIMITED : postedNano - heldNano - floorNano
}
