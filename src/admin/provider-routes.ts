// Administration routes for providers: list, store and remove credentials, check.

import type { Json, JsonObject } from "../canonical/json.ts"
import { object, optional, required } from "../canonical/schema/object-schema.ts"
import { boolean, integer, list, nullable, text, time } from "../canonical/schema/value-schema.ts"
import { type AnyAdminRoute, adminRoute, BODY_LIMIT } from "./admin-route.ts"
import type { CheckState, ProviderAdministration, ProviderCredentialInput, ProviderState } from "./gateway-view.ts"

const provider = object({
  id: required(text()),
  type: required(text()),
  address: required(nullable(text({ max: 2000 }))),
  protocols: required(list(text())),
  credential: required(
    text({ about: "configuration, cloud (a role or managed identity), store, none, or not needed" }),
  ),
  accounts: required(integer({ min: 0, max: Number.MAX_SAFE_INTEGER })),
  configured: required(boolean),
  source: required(nullable(text({ about: "The source of the credential: file, environment or store." }))),
  variable: required(nullable(text({ about: "The environment variable that contains the credential." }))),
  hint: required(nullable(text({ about: "The last characters of the credential." }))),
  stored_at: required(nullable(time)),
})

/** Check result per account. */
export const checkedProviders = list(
  object({
    provider: required(text()),
    address: required(nullable(text({ max: 2000 }))),
    source: required(nullable(text({ max: 2000, about: "The source of the credential." }))),
    verdict: required(text({ max: 2000 })),
    sound: required(boolean),
    models: optional(list(text({ max: 400, about: "A model that the host offers, if its models are discovered." }))),
  }),
)

const input = object({
  api_key: required(text({ max: 10_000, about: "Stored sealed and never shown." })),
  type: optional(text({ about: "The provider type, if the provider is not in the configuration (default: its id)." })),
  base_url: optional(text({ max: 2000 })),
  region: optional(text()),
  resource: optional(text()),
  api_version: optional(text()),
})

const path = "/admin/v1/providers"
const credential = `${path}/{id}/credential`
const readOptions = { access: "administrator", bodyLimit: 0 } as const

export function providerRoutes(providers: ProviderAdministration): AnyAdminRoute[] {
  return [
    adminRoute({
      ...readOptions,
      method: "GET",
      path,
      summary: "List the providers and the source of each credential.",
      responseSchema: object({ providers: required(list(provider)) }),
      handle: async () => ({ providers: (await providers.list()).map(toProviderView) }),
    }),
    adminRoute({
      method: "PUT",
      access: "administrator",
      path: credential,
      bodyLimit: BODY_LIMIT,
      summary:
        "Store a provider's credential, sealed, for its current address. A credential in the configuration takes precedence. `type`, `base_url` and the members after them define a provider that is not in the configuration.",
      bodySchema: input,
      responseSchema: provider,
      handle: async ({ parameters: { id = "" }, body }) =>
        toProviderView(await providers.add(id, body as ProviderCredentialInput)),
    }),
    adminRoute({
      ...readOptions,
      method: "DELETE",
      path: credential,
      summary: "Remove a provider's stored credential, and the provider if it was defined with it.",
      responseSchema: provider,
      handle: async ({ parameters: { id = "" } }) => toProviderView(await providers.remove(id)),
    }),
    adminRoute({
      ...readOptions,
      method: "POST",
      path: `${path}/{id}/check`,
      summary: "Check that a provider accepts its credential.",
      responseSchema: object({ sound: required(boolean), providers: required(checkedProviders) }),
      handle: async ({ parameters: { id = "" } }) => {
        const found = await providers.check(id)
        return { sound: found.sound, providers: found.providers.map(toCheckedView) }
      },
    }),
  ]
}

export function toCheckedView({ models, ...each }: CheckState["providers"][number]): JsonObject {
  return { ...each, ...(models && { models: [...models] }) }
}

function toProviderView(state: ProviderState): JsonObject {
  return { ...state, protocols: [...state.protocols] } satisfies Record<string, Json>
}
