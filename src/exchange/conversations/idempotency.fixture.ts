// A store in memory, a seal that notices when it is opened elsewhere, and a function that writes a response.
import type { IdempotencyTable, Store } from "../../store/contract.ts"
import { openSqlite } from "../../store/sqlite/open-sqlite.ts"
import { type IdempotencyClaim, IdempotencyRegistry, type ReplayedAnswer } from "./idempotency.ts"

export type RegistryOptions = ConstructorParameters<typeof IdempotencyRegistry>[0]
export type ClaimInput = Parameters<IdempotencyRegistry["begin"]>[0]

export const openMemory = (): Store => openSqlite(":memory:")

/** What the seals below add to an answer's length. */
export const SEAL_BYTES = 64

/** Not a cipher, but the sealed bytes differ from the plain ones and open only in their own place. */
const seals: Pick<RegistryOptions, "seal" | "open"> = {
  seal: (plain, context) => Buffer.concat([sealMark(context), plain.map((byte) => byte ^ 0xff)]),
  open: (sealed, context) => {
    const plain = sealed.subarray(SEAL_BYTES).map((byte) => byte ^ 0xff)
    return sealMark(context).equals(sealed.subarray(0, SEAL_BYTES)) ? plain : undefined
  },
}

function sealMark(context: string): Buffer {
  return Buffer.from(new Bun.CryptoHasher("sha256").update(context).digest("hex"))
}

export function registryOn(table: IdempotencyTable, more: Partial<RegistryOptions> = {}): IdempotencyRegistry {
  return new IdempotencyRegistry({ table, ...seals, ...more })
}

export function expectClaim(begun: IdempotencyClaim | ReplayedAnswer): IdempotencyClaim {
  if ("body" in begun) throw new Error(`the answer of ${begun.requestId} was given again`)
  return begun
}

export function expectReplay(begun: IdempotencyClaim | ReplayedAnswer): ReplayedAnswer {
  if ("body" in begun) return begun
  throw new Error("no answer was kept")
}
