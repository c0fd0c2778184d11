// What an embeddings body may not say, and the members that have one spelling alone.
import { guardBody } from "../../body-rules.ts"
import { ACCOUNT_OBJECTS, refusedAtTop } from "../../gateway-extension.ts"

export const bodyGuard = guardBody({
  members: ["model", "models", "fallbacks", "provider", "input", "dimensions", "encoding_format", "user"],
  refused: refusedAtTop([]),
  refusedAnywhere: ACCOUNT_OBJECTS,
  opaque: ["metadata"],
})
