// What the commands ask for: of the store itself, or of the gateway that has it open, over its administration port.
import type { AskedGrant } from "../accounts/shown-grant.ts"
import type { AskedChange, AskedKey, ShownKey, ShownMintedKey } from "../accounts/shown-key.ts"
import type { AskedTenant, ShownTenant } from "../accounts/shown-tenant.ts"
import type { Json } from "../canonical/json.ts"
import type { AdminClient } from "./admin-client.ts"
import type { CheckReport } from "./check.ts"
import type { AdminFlags } from "./flags.ts"
import type { AskedUsage, ReturnedSuspense, ShownReceipt, SuspensePage, UsagePage, Verdict } from "./shown-books.ts"
import type { CredentialInput, ShownProvider } from "./shown-provider.ts"

export interface Desk {
  readonly keys: {
    create(asked: AskedKey): Promise<ShownMintedKey>
    list(): Promise<readonly ShownKey[]>
    update(id: string, asked: AskedChange): Promise<ShownKey>
    topUp(id: string, asked: { readonly usd: string }): Promise<ShownKey>
    rotate(id: string, asked: { readonly grace_seconds?: number }): Promise<ShownMintedKey>
    revoke(id: string): Promise<ShownKey>
  }
  readonly tenants: {
    create(asked: AskedTenant): Promise<ShownTenant>
    list(): Promise<readonly ShownTenant[]>
    update(name: string, asked: AskedGrant): Promise<ShownTenant>
    topUp(name: string, asked: { readonly usd: string }): Promise<ShownTenant>
  }
  readonly books: {
    receipt(id: string): Promise<ShownReceipt>
    usage(asked: AskedUsage): Promise<UsagePage>
    verify(): Promise<Verdict>
  }
  readonly providers: {
    list(): Promise<readonly ShownProvider[]>
    add(id: string, asked: CredentialInput): Promise<ShownProvider>
    remove(id: string): Promise<ShownProvider>
    check(id: string): Promise<Pick<CheckReport, "sound" | "providers">>
  }
  readonly suspense: {
    list(asked: { readonly after?: string }): Promise<SuspensePage>
    settle(id: string, asked: { readonly usd?: string }): Promise<ShownReceipt>
    return(id: string): Promise<ShownReceipt>
    returnAll(): Promise<ReturnedSuspense>
  }
}

export type OpenDesk = (flags: AdminFlags) => { readonly desk: Desk; readonly close: () => void }

/** Closes it, however `act` ends. */
export async function atDesk(open: OpenDesk, flags: AdminFlags, act: (desk: Desk) => Promise<void>): Promise<void> {
  const { desk, close } = open(flags)
  try {
    await act(desk)
  } finally {
    close()
  }
}

/** What comes back was written by the same code at the other end. */
export function portDesk(client: AdminClient): Desk {
  const key = (id: string) => `/keys/${encodeURIComponent(id)}`
  const provider = (id: string) => `/providers/${encodeURIComponent(id)}`
  const tenant = (name: string) => `/tenants/${encodeURIComponent(name)}`
  const as = <Shown>(answer: Promise<unknown>) => answer as Promise<Shown>
  const post = <Shown>(path: string, asked: object) => as<Shown>(client.post(path, { ...asked } as Json))
  const patch = <Shown>(path: string, asked: object) => as<Shown>(client.patch(path, { ...asked } as Json))
  return {
    keys: {
      create: (asked) => post("/keys", asked),
      list: async () => (await as<{ keys: ShownKey[] }>(client.get("/keys"))).keys,
      update: (id, asked) => patch(key(id), asked),
      topUp: (id, asked) => post(`${key(id)}/topup`, asked),
      rotate: (id, asked) => post(`${key(id)}/rotate`, asked),
      revoke: (id) => as(client.post(`${key(id)}/revoke`)),
    },
    tenants: {
      create: (asked) => post("/tenants", asked),
      list: async () => (await as<{ tenants: ShownTenant[] }>(client.get("/tenants"))).tenants,
      update: (name, asked) => patch(tenant(name), asked),
      topUp: (name, asked) => post(`${tenant(name)}/topup`, asked),
    },
    books: {
      receipt: (id) => as(client.get(`/receipts/${encodeURIComponent(id)}`)),
      usage: (asked) => as(client.get(`/usage?${new URLSearchParams({ ...asked })}`)),
      verify: () => as(client.post("/ledger/verify")),
    },
    providers: {
      list: async () => (await as<{ providers: ShownProvider[] }>(client.get("/providers"))).providers,
      add: (id, asked) => as(client.put(`${provider(id)}/credential`, { ...asked })),
      remove: (id) => as(client.delete(`${provider(id)}/credential`)),
      check: (id) => as(client.post(`${provider(id)}/check`)),
    },
    suspense: {
      list: (asked) => as(client.get(`/ledger/suspense?${new URLSearchParams({ ...asked })}`)),
      settle: (id, asked) => post(`/ledger/suspense/${encodeURIComponent(id)}/settle`, asked),
      return: (id) => as(client.post(`/ledger/suspense/${encodeURIComponent(id)}/return`)),
      returnAll: () => as(client.post("/ledger/suspense/return")),
    },
  }
}
