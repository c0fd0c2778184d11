// Administration routes for keys: create, list, change, top up, rotate, revoke.

import { MAX_MAPPINGS } from "../access/model-map.ts"
import { changeSchema, object, optional, optionalMembers, required } from "../canonical/schema/object-schema.ts"
import { boolean, integer, list, nullable, text, time } from "../canonical/schema/value-schema.ts"
import { type AnyAdminRoute, adminRoute, BODY_LIMIT } from "./admin-route.ts"
import {
  balanceViewMembers,
  grantInputSchemas,
  grantViewMembers,
  spendingViewMembers,
  topUpSchema,
  usdSchema,
} from "./grant-schema.ts"
import type { KeyService } from "./services/key-service.ts"

const modelMap = list(
  object({
    from: required(text({ about: "A requested model name, or a pattern such as claude-haiku-*." })),
    to: required(text({ about: "The model to serve instead, such as google/gemini-2.5-flash." })),
  }),
  { max: MAX_MAPPINGS },
)
const shown = {
  id: required(text()),
  name: required(text()),
  tenant: required(text()),
  hint: required(text()),
  addresses: required(nullable(list(text()))),
  ...grantViewMembers,
  keep_answers: required(boolean),
  own_balance: required(boolean),
  ...balanceViewMembers,
  strict_balance: required(boolean),
  hedge: required(boolean),
  model_map: required(nullable(modelMap)),
  created_at: required(time),
  expires_at: required(nullable(time)),
  revoked_at: required(nullable(time)),
}
const key = object(shown)
const keyNow = object({ ...shown, ...spendingViewMembers })
const minted = { ...shown, key: required(text({ about: "The key itself, shown only once." })) }
const mintedKey = object(minted)
const rotatedKey = object({ ...minted, previous_until: optional(time) })

const name = text({ about: "The key's name." })
const tenant = text({ about: "The tenant the key belongs to." })
const cleared = {
  ...grantInputSchemas,
  addresses: list(text({ about: "A client IP address, or a range such as 10.0.0.0/8, that may use the key." })),
  keep_answers: boolean,
  own_balance: boolean,
  strict_balance: boolean,
  hedge: boolean,
  model_map: modelMap,
  expires_at: time,
}
const change = changeSchema({ name, tenant }, cleared)
const creation = object({
  name: required(name),
  tenant: optional(tenant),
  ...optionalMembers(cleared),
  balance: optional(usdSchema),
})
const rotation = object({ grace_seconds: optional(integer({ min: 0, max: 365 * 86_400 })) })

const path = "/admin/v1/keys"
const one = `${path}/{id}`
const readOptions = { access: "administrator", bodyLimit: 0 } as const
const writeOptions = { access: "administrator", bodyLimit: BODY_LIMIT } as const

export function keyRoutes(service: KeyService): AnyAdminRoute[] {
  return [
    adminRoute({
      ...readOptions,
      method: "GET",
      path,
      summary: "List all keys.",
      responseSchema: object({ keys: required(list(key, { max: 1_000_000 })) }),
      handle: async () => ({ keys: await service.list() }),
    }),
    adminRoute({
      ...writeOptions,
      method: "POST",
      path,
      summary: "Create a key. Only this response contains the key itself.",
      bodySchema: creation,
      responseSchema: mintedKey,
      status: 201,
      handle: ({ body }) => service.create(body),
    }),
    ...oneKeyRoutes(service),
  ]
}

function oneKeyRoutes(service: KeyService): AnyAdminRoute[] {
  return [
    adminRoute({
      ...readOptions,
      method: "GET",
      path: one,
      summary: "Show a key, the balance it pays from (its own or its tenant's), and what is left of its budgets.",
      responseSchema: keyNow,
      handle: ({ parameters: { id = "" } }) => service.get(id),
    }),
    adminRoute({
      ...writeOptions,
      method: "PATCH",
      path: one,
      summary: "Change a key; null removes a limit. Takes effect with the next request.",
      bodySchema: change,
      responseSchema: key,
      handle: ({ parameters: { id = "" }, body }) => service.update(id, body),
    }),
    adminRoute({
      ...writeOptions,
      method: "POST",
      path: `${one}/topup`,
      summary: "Top up a key's own balance; a key without one gets one.",
      bodySchema: topUpSchema,
      responseSchema: key,
      handle: ({ parameters: { id = "" }, body }) => service.topUp(id, body),
    }),
    adminRoute({
      ...writeOptions,
      method: "POST",
      path: `${one}/rotate`,
      summary: "Rotate a key; the old secret stays valid for a grace period (default: 24 hours).",
      bodySchema: rotation,
      responseSchema: rotatedKey,
      handle: ({ parameters: { id = "" }, body }) => service.rotate(id, body),
    }),
    adminRoute({
      ...readOptions,
      method: "POST",
      path: `${one}/revoke`,
      summary: "Revoke a key. Takes effect with the next request.",
      responseSchema: key,
      handle: ({ parameters: { id = "" } }) => service.revoke(id),
    }),
  ]
}
