// What keys ask of whoever keeps the balances.

export interface Money {
  /** Adds to a key's balance: once for one event id, however often it is told. */
  topUp(keyId: string, nanoUsd: bigint, eventId: string): Promise<void>
  /** Undefined where the key has no balance of its own. */
  balanceOf(keyId: string): Promise<bigint | undefined>
}
