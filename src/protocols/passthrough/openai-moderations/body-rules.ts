// Rules for moderations bodies: refused members, and members with only one spelling.
import { guardBody } from "../../body-rules.ts"
import { ACCOUNT_OBJECTS, refusedAtTop } from "../../gateway-extension.ts"

export const bodyGuard = guardBody({
  members: ["model", "models", "fallbacks", "provider", "input"],
  refused: refusedAtTop([]),
  refusedAnywhere: ACCOUNT_OBJECTS,
  opaque: ["metadata"],
})
