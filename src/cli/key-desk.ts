// Where keys are made and changed: on the store itself, or over the administration port of the gateway that has it open.
import type { Keys, MintedKey } from "../accounts/keys.ts"
import { type AskedKey, type ShownKey, type ShownMintedKey, shownKey, wishOf } from "../accounts/shown-key.ts"
import type { Json } from "../canonical/json.ts"
import type { AdminClient } from "./admin-client.ts"

export interface KeyDesk {
  create(asked: AskedKey): Promise<ShownMintedKey>
  list(): Promise<readonly ShownKey[]>
  rotate(id: string, options: { readonly graceMs: number | undefined }): Promise<ShownMintedKey>
  revoke(id: string): Promise<ShownKey>
  close(): void
}

export function storeDesk(keys: Keys, close: () => void): KeyDesk {
  const minted = ({ key, text }: MintedKey): ShownMintedKey => ({ ...shownKey(key), key: text })
  return {
    create: async (asked) => minted(keys.create(wishOf(asked))),
    list: async () => keys.list().map(shownKey),
    rotate: async (id, { graceMs }) => minted(keys.rotate(id, graceMs === undefined ? {} : { graceMs })),
    revoke: async (id) => shownKey(keys.revoke(id)),
    close,
  }
}

/** What comes back was written by the same code at the other end. */
export function portDesk(client: AdminClient): KeyDesk {
  const at = (id: string) => `/keys/${encodeURIComponent(id)}`
  const as = <Shown>(answer: Promise<unknown>) => answer as Promise<Shown>
  return {
    create: (asked) => as(client.post("/keys", { ...asked } as Json)),
    list: async () => (await as<{ keys: ShownKey[] }>(client.get("/keys"))).keys,
    rotate: (id, { graceMs }) =>
      as(client.post(`${at(id)}/rotate`, graceMs === undefined ? {} : { grace_seconds: Math.round(graceMs / 1000) })),
    revoke: (id) => as(client.post(`${at(id)}/revoke`)),
    close: () => {},
  }
}
