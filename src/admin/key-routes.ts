// Keys: made, listed, rotated, revoked.
import type { Keys, MintedKey } from "../accounts/keys.ts"
import { shownKey, wishOf } from "../accounts/shown-key.ts"
import type { Json } from "../canonical/json.ts"
import { type AnyAdminRoute, BODY_LIMIT, route } from "./route.ts"
import { boolean, integer, list, nullable, object, optional, required, text, time } from "./schema.ts"

const shown = {
  id: required(text()),
  name: required(text()),
  tenant: required(text()),
  hint: required(text()),
  models: required(nullable(list(text()))),
  strict: required(boolean()),
  created_at: required(time()),
  expires_at: required(nullable(time())),
  revoked_at: required(nullable(time())),
}
const key = object(shown)
const mintedKey = object({ ...shown, key: required(text({ about: "The key itself, shown this once." })) })

const asked = object({
  name: required(text({ about: "What it is for." })),
  tenant: optional(text({ about: "Whom it belongs to." })),
  models: optional(list(text({ about: "A model id, or a pattern such as openai/*." }))),
  strict: optional(boolean()),
  expires_at: optional(time()),
})
const rotation = object({ grace_seconds: optional(integer({ min: 0, max: 365 * 86_400 })) })

export function keyRoutes(keys: Keys): AnyAdminRoute[] {
  const path = "/admin/v1/keys"
  const one = `${path}/{id}`
  const asking = { who: "administrator", bodyLimit: 0 } as const
  const telling = { who: "administrator", bodyLimit: BODY_LIMIT } as const
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
      handle: ({ body }) => minted(keys.create(wishOf(body))),
    }),
    route({
      ...asking,
      method: "GET",
      path: one,
      summary: "Show a key.",
      gives: key,
      handle: ({ parameters: { id = "" } }) => ({ ...shownKey(keys.get(id)) }) as Json,
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
