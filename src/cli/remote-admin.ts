// Runs an admin command on the store itself, or over the administration port of the gateway that has it open.
import type { GrantInput } from "../access/views/grant-view.ts"
import type { KeyChangeInput, KeyInput, KeyView, MintedKeyView } from "../access/views/key-view.ts"
import type { TenantInput, TenantView } from "../access/views/tenant-view.ts"
import type { Json } from "../canonical/json.ts"
import type { AdminClient } from "./admin-client.ts"
import type { CheckReport } from "./check-accounts.ts"
import type { AdminFlags } from "./command-flags.ts"
import type {
  ReceiptResponse,
  ReturnedSuspenseResponse,
  SuspensePageResponse,
  UsageFilters,
  UsagePageResponse,
  VerificationResponse,
} from "./ledger-responses.ts"
import type { CredentialInput, ProviderResponse } from "./provider-response.ts"

export interface AdminApi {
  readonly keys: {
    create(asked: KeyInput): Promise<MintedKeyView>
    list(): Promise<readonly KeyView[]>
    update(id: string, asked: KeyChangeInput): Promise<KeyView>
    topUp(id: string, asked: { readonly usd: string }): Promise<KeyView>
    rotate(id: string, asked: { readonly grace_seconds?: number }): Promise<MintedKeyView>
    revoke(id: string): Promise<KeyView>
  }
  readonly tenants: {
    create(asked: TenantInput): Promise<TenantView>
    list(): Promise<readonly TenantView[]>
    update(name: string, asked: GrantInput): Promise<TenantView>
    topUp(name: string, asked: { readonly usd: string }): Promise<TenantView>
  }
  readonly ledger: {
    receipt(id: string): Promise<ReceiptResponse>
    usage(asked: UsageFilters): Promise<UsagePageResponse>
    verify(): Promise<VerificationResponse>
  }
  readonly providers: {
    list(): Promise<readonly ProviderResponse[]>
    add(id: string, asked: CredentialInput): Promise<ProviderResponse>
    remove(id: string): Promise<ProviderResponse>
    check(id: string): Promise<Pick<CheckReport, "sound" | "providers">>
  }
  readonly suspense: {
    list(asked: { readonly after?: string }): Promise<SuspensePageResponse>
    settle(id: string, asked: { readonly usd?: string }): Promise<ReceiptResponse>
    return(id: string): Promise<ReceiptResponse>
    returnAll(): Promise<ReturnedSuspenseResponse>
  }
}

export type OpenAdmin = (flags: AdminFlags) => { readonly adminService: AdminApi; readonly close: () => void }

/** Closes the service even if `act` throws. */
export async function withAdmin(
  open: OpenAdmin,
  flags: AdminFlags,
  act: (adminService: AdminApi) => Promise<void>,
): Promise<void> {
  const { adminService, close } = open(flags)
  try {
    await act(adminService)
  } finally {
    close()
  }
}

/** Unchecked cast: the same code wrote the response on the gateway's side. */
export function remoteAdmin(client: AdminClient): AdminApi {
  const key = (id: string) => `/keys/${encodeURIComponent(id)}`
  const provider = (id: string) => `/providers/${encodeURIComponent(id)}`
  const tenant = (name: string) => `/tenants/${encodeURIComponent(name)}`
  const as = <Shown>(answer: Promise<unknown>) => answer as Promise<Shown>
  const post = <Shown>(path: string, asked: object) => as<Shown>(client.post(path, { ...asked } as Json))
  const patch = <Shown>(path: string, asked: object) => as<Shown>(client.patch(path, { ...asked } as Json))
  return {
    keys: {
      create: (asked) => post("/keys", asked),
      list: async () => (await as<{ keys: KeyView[] }>(client.get("/keys"))).keys,
      update: (id, asked) => patch(key(id), asked),
      topUp: (id, asked) => post(`${key(id)}/topup`, asked),
      rotate: (id, asked) => post(`${key(id)}/rotate`, asked),
      revoke: (id) => as(client.post(`${key(id)}/revoke`)),
    },
    tenants: {
      create: (asked) => post("/tenants", asked),
      list: async () => (await as<{ tenants: TenantView[] }>(client.get("/tenants"))).tenants,
      update: (name, asked) => patch(tenant(name), asked),
      topUp: (name, asked) => post(`${tenant(name)}/topup`, asked),
    },
    ledger: {
      receipt: (id) => as(client.get(`/receipts/${encodeURIComponent(id)}`)),
      usage: (asked) => as(client.get(`/usage?${new URLSearchParams({ ...asked })}`)),
      verify: () => as(client.post("/ledger/verify")),
    },
    providers: {
      list: async () => (await as<{ providers: ProviderResponse[] }>(client.get("/providers"))).providers,
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
