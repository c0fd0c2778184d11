// Keys: made, listed, changed, paid for, rotated, revoked.
import { randomUUID } from "node:crypto"
import type { Keys, MintedKey } from "../accounts/keys.ts"
import { changeOf, shownKey, wishOf } from "../accounts/shown-key.ts"
import { readUsd } from "../accounts/usd.ts"
import type { Json } from "../canonical/json.ts"
import { usdOfNano } from "../canonical/usd.ts"
import { askedGrant, changes, optionals, shownGrant, usd } from "./grant-schema.ts"
import { type AnyAdminRoute, BODY_LIMIT, route } from "./route.ts"
import { boolean, integer, list, nullable, object, optional, required, text, time } from "./schema.ts"

const shown = {
  id: required(text()),
  name: required(text()),
  tenant: required(text()),
  hint: required(text()),
  addresses: required(nullable(list(text()))),
  ...shownGrant,
  keep_answers: required(boolean()),
  own_balance: required(boolean()),
  created_at: required(time()),
  expires_at: required(nullable(time())),
  revoked_at: required(nullable(time())),
}
const key = object(shown)
const paidKey = object({ ...shown, balance: required(nullable(text({ about: "Decimal USD." }))) })
const mintedKey = object({ ...shown, key: required(text({ about: "The key itself, shown this once." })) })

const name = text({ about: "What it is for." })
const tenant = text({ about: "Whom it belongs to." })
const cleared = {
  ...askedGrant,
  addresses: list(text({ about: "An address it may be used from, or a range such as 10.0.0.0/8." })),
  keep_answers: boolean(),
  own_balance: boolean(),
  expires_at: time(),
}
const change = changes({ name, tenant }, cleared)
const asked = object({
  name: required(name),
  tenant: optional(tenant),
  ...optionals(cleared),
  balance: optional(usd),
})
const rotation = object({ grace_seconds: optional(integer({ min: 0, max: 365 * 86_400 })) })
const topUp = object({
  usd: required(usd),
  event_id: optional(text({ about: "The same one is booked once, however often it is sent." })),
})

const path = "/admin/v1/keys"
const one = `${path}/{id}`
const asking = { who: "administrator", bodyLimit: 0 } as const
const telling = { who: "administrator", bodyLimit: BODY_LIMIT } as const

export function keyRoutes(keys: Keys): AnyAdminRoute[] {
  return [
    route({
      ...asking,
      method: "GET",
      path,
      summary: "List all keys.",
      gives: object({ keys: required(list(key, { max: 1_000_000 })) }),
      handle: () => ({ keys: keys.list().map((each) => ({ ...shownKey(each) })) as Json }),
    }),
    route({
      ...telling,
      method: "POST",
      path,
      summary: "Create a key. Its text is in this answer and nowhere else.",
      takes: asked,
      gives: mintedKey,
      status: 201,
      handle: async ({ body }) => {
        const { balance } = body
        if (balance === undefined) return minted(keys.create(wishOf(body)))
        return minted(await keys.createFunded(wishOf(body), readUsd(balance, "balance")))
      },
    }),
    ...oneKeyRoutes(keys),
  ]
}

function oneKeyRoutes(keys: Keys): AnyAdminRoute[] {
  const paid = async (id: string): Promise<Json> => {
    const known = keys.get(id)
    const balance = await keys.balanceOf(known)
    return { ...shownKey(known), balance: balance === undefined ? null : usdOfNano(balance) } as Json
  }
  return [
    route({
      ...asking,
      method: "GET",
      path: one,
      summary: "Show a key, and its balance where it has one of its own.",
      gives: paidKey,
      handle: ({ parameters: { id = "" } }) => paid(id),
    }),
    route({
      ...telling,
      method: "PATCH",
      path: one,
      summary: "Change what is said of a key; null takes a bound away. Holds from the next request on.",
      takes: change,
      gives: key,
      handle: ({ parameters: { id = "" }, body }) => ({ ...shownKey(keys.update(id, changeOf(body))) }) as Json,
    }),
    route({
      ...telling,
      method: "POST",
      path: `${one}/topup`,
      summary: "Add to a key's balance, which it has from then on.",
      takes: topUp,
      gives: paidKey,
      handle: async ({ parameters: { id = "" }, body }) => {
        const eventId = body.event_id ?? randomUUID()
        await keys.topUp(id, { nanoUsd: readUsd(body.usd, "usd"), eventId })
        return paid(id)
      },
    }),
    route({
      ...telling,
      method: "POST",
      path: `${one}/rotate`,
      summary: "Give a key a new text; the old one is taken for a while (24 hours unless told otherwise).",
      takes: rotation,
      gives: mintedKey,
      handle: ({ parameters: { id = "" }, body: { grace_seconds: grace } }) =>
        minted(keys.rotate(id, grace === undefined ? {} : { graceMs: grace * 1000 })),
    }),
    route({
      ...asking,
      method: "POST",
      path: `${one}/revoke`,
      summary: "Let nobody in with a key any more. Holds from the next request on.",
      gives: key,
      handle: ({ parameters: { id = "" } }) => ({ ...shownKey(keys.revoke(id)) }) as Json,
    }),
  ]
}

function minted({ key: made, text: key }: MintedKey): Json {
  return { ...shownKey(made), key } as Json
}
