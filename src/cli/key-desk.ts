// Where keys and tenants are made and changed: on the store itself, or over the administration port of the gateway that has it open.
import { randomUUID } from "node:crypto"
import type { Keys, MintedKey } from "../accounts/keys.ts"
import { type AskedGrant, grantWishOf } from "../accounts/shown-grant.ts"
import {
  type AskedChange,
  type AskedKey,
  changeOf,
  type ShownKey,
  type ShownMintedKey,
  shownKey,
  wishOf,
} from "../accounts/shown-key.ts"
import { type AskedTenant, type ShownTenant, shownTenant } from "../accounts/shown-tenant.ts"
import { readUsd } from "../accounts/usd.ts"
import type { Json } from "../canonical/json.ts"
import type { AdminClient } from "./admin-client.ts"

export interface KeyDesk {
  create(asked: AskedKey): Promise<ShownMintedKey>
  list(): Promise<readonly ShownKey[]>
  update(id: string, asked: AskedChange): Promise<ShownKey>
  topUp(id: string, usd: string): Promise<ShownKey>
  rotate(id: string, options: { readonly graceMs: number | undefined }): Promise<ShownMintedKey>
  revoke(id: string): Promise<ShownKey>
  readonly tenants: TenantDesk
  close(): void
}

interface TenantDesk {
  create(asked: AskedTenant): Promise<ShownTenant>
  list(): Promise<readonly ShownTenant[]>
  update(name: string, asked: AskedGrant): Promise<ShownTenant>
}

export function storeDesk(keys: Keys, close: () => void): KeyDesk {
  const minted = ({ key, text }: MintedKey): ShownMintedKey => ({ ...shownKey(key), key: text })
  return {
    create: async (asked) => {
      const { balance } = asked
      if (balance === undefined) return minted(keys.create(wishOf(asked)))
      return minted(await keys.createFunded(wishOf(asked), readUsd(balance, "balance")))
    },
    list: async () => keys.list().map(shownKey),
    update: async (id, asked) => shownKey(keys.update(id, changeOf(asked))),
    topUp: async (id, usd) => shownKey(await keys.topUp(id, { nanoUsd: readUsd(usd, "usd"), eventId: randomUUID() })),
    rotate: async (id, { graceMs }) => minted(keys.rotate(id, graceMs === undefined ? {} : { graceMs })),
    revoke: async (id) => shownKey(keys.revoke(id)),
    tenants: {
      create: async ({ name, ...asked }) => shownTenant(keys.tenants.create(name, grantWishOf(asked))),
      list: async () => keys.tenants.list().map(shownTenant),
      update: async (name, asked) => shownTenant(keys.tenants.update(name, grantWishOf(asked))),
    },
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
    update: (id, asked) => as(client.patch(at(id), { ...asked } as Json)),
    topUp: (id, usd) => as(client.post(`${at(id)}/topup`, { usd, event_id: randomUUID() })),
    rotate: (id, { graceMs }) =>
      as(client.post(`${at(id)}/rotate`, graceMs === undefined ? {} : { grace_seconds: Math.round(graceMs / 1000) })),
    revoke: (id) => as(client.post(`${at(id)}/revoke`)),
    tenants: {
      create: (asked) => as(client.post("/tenants", { ...asked } as Json)),
      list: async () => (await as<{ tenants: ShownTenant[] }>(client.get("/tenants"))).tenants,
      update: (name, asked) => as(client.patch(`/tenants/${encodeURIComponent(name)}`, { ...asked } as Json)),
    },
    close: () => {},
  }
}
