// A store in memory, a seal that tells when it is opened elsewhere, and a way to write what was answered.
import type { RepeatTable, Store } from "../store/contract.ts"
import { openSqlite } from "../store/sqlite/open.ts"
import { type Claim, type KeptAnswer, Repeats } from "./repeats.ts"

export type Options = ConstructorParameters<typeof Repeats>[0]
export type Asked = Parameters<Repeats["begin"]>[0]

export const openMemory = (): Store => openSqlite(":memory:")

/** What the seals below add to an answer's length. */
export const SEAL_BYTES = 64

/** No cipher, but what is sealed is not what was said, and opens in its own place only. */
const seals: Pick<Options, "seal" | "open"> = {
  seal: (plain, context) => Buffer.concat([mark(context), plain.map((byte) => byte ^ 0xff)]),
  open: (sealed, context) => {
    const plain = sealed.subarray(SEAL_BYTES).map((byte) => byte ^ 0xff)
    return mark(context).equals(sealed.subarray(0, SEAL_BYTES)) ? plain : undefined
  },
}

function mark(context: string): Buffer {
  return Buffer.from(new Bun.CryptoHasher("sha256").update(context).digest("hex"))
}

export function repeatsOn(table: RepeatTable, more: Partial<Options> = {}): Repeats {
  return new Repeats({ table, ...seals, ...more })
}

export function claimed(begun: Claim | KeptAnswer): Claim {
  if ("body" in begun) throw new Error(`the answer of ${begun.requestId} was given again`)
  return begun
}

export function kept(begun: Claim | KeptAnswer): KeptAnswer {
  if ("body" in begun) return begun
  throw new Error("no answer was kept")
}
