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
    create(input: KeyInput): Promise<MintedKeyView>
    list(): Promise<readonly KeyView[]>
    update(id: string, input: KeyChangeInput): Promise<KeyView>
    topUp(id: string, input: { readonly usd: string }): Promise<KeyView>
    rotate(id: string, input: { readonly grace_seconds?: number }): Promise<MintedKeyView>
    revoke(id: string): Promise<KeyView>
  }
  readonly tenants: {
    create(input: TenantInput): Promise<TenantView>
    list(): Promise<readonly TenantView[]>
    update(name: string, input: GrantInput): Promise<TenantView>
    topUp(name: string, input: { readonly usd: string }): Promise<TenantView>
  }
  readonly ledger: {
    receipt(id: string): Promise<ReceiptResponse>
    usage(filters: UsageFilters): Promise<UsagePageResponse>
    verify(): Promise<VerificationResponse>
  }
  readonly providers: {
    list(): Promise<readonly ProviderResponse[]>
    add(id: string, input: CredentialInput): Promise<ProviderResponse>
    remove(id: string): Promise<ProviderResponse>
    check(id: string): Promise<Pick<CheckReport, "sound" | "providers">>
  }
  readonly suspense: {
    list(query: { readonly after?: string }): Promise<SuspensePageResponse>
    settle(id: string, input: { readonly usd?: string }): Promise<ReceiptResponse>
    return(id: string): Promise<ReceiptResponse>
    returnAll(): Promise<ReturnedSuspenseResponse>
  }
}

export type OpenAdmin = (flags: AdminFlags) => { readonly adminService: AdminApi; readonly close: () => void }

/** Closes the service even if `action` throws. */
export async function withAdmin(
  open: OpenAdmin,
  flags: AdminFlags,
  action: (adminService: AdminApi) => Promise<void>,
): Promise<void> {
  const { adminService, close } = open(flags)
  try {
    await action(adminService)
  } finally {
    close()
  }
}

/** Unchecked cast: the same code wrote the response on the gateway's side. */
export function remoteAdmin(client: AdminClient): AdminApi {
  const key = (id: string) => `/keys/${encodeURIComponent(id)}`
  const provider = (id: string) => `/providers/${encodeURIComponent(id)}`
  const tenant = (name: string) => `/tenants/${encodeURIComponent(name)}`
  const as = <View>(answer: Promise<unknown>) => answer as Promise<View>
  const post = <View>(path: string, input: object) => as<View>(client.post(path, { ...input } as Json))
  const patch = <View>(path: string, input: object) => as<View>(client.patch(path, { ...input } as Json))
  return {
    keys: {
      create: (input) => post("/keys", input),
      list: async () => (await as<{ keys: KeyView[] }>(client.get("/keys"))).keys,
      update: (id, input) => patch(key(id), input),
      topUp: (id, input) => post(`${key(id)}/topup`, input),
      rotate: (id, input) => post(`${key(id)}/rotate`, input),
      revoke: (id) => as(client.post(`${key(id)}/revoke`)),
    },
    tenants: {
      create: (input) => post("/tenants", input),
      list: async () => (await as<{ tenants: TenantView[] }>(client.get("/tenants"))).tenants,
      update: (name, input) => patch(tenant(name), input),
      topUp: (name, input) => post(`${tenant(name)}/topup`, input),
    },
    ledger: {
      receipt: (id) => as(client.get(`/receipts/${encodeURIComponent(id)}`)),
      usage: (filters) => as(client.get(`/usage?${new URLSearchParams({ ...filters })}`)),
      verify: () => as(client.post("/ledger/verify")),
    },
    providers: {
      list: async () => (await as<{ providers: ProviderResponse[] }>(client.get("/providers"))).providers,
      add: (id, input) => as(client.put(`${provider(id)}/credential`, { ...input })),
      remove: (id) => as(client.delete(`${provider(id)}/credential`)),
      check: (id) => as(client.post(`${provider(id)}/check`)),
    },
    suspense: {
      list: (query) => as(client.get(`/ledger/suspense?${new URLSearchParams({ ...query })}`)),
      settle: (id, input) => post(`/ledger/suspense/${encodeURIComponent(id)}/settle`, input),
      return: (id) => as(client.post(`/ledger/suspense/${encodeURIComponent(id)}/return`)),
      returnAll: () => as(client.post("/ledger/suspense/return")),
    },
  }
}
