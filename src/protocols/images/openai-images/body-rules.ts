// Rules for images bodies: refused members, and members with only one spelling.
import { guardBody } from "../../body-rules.ts"
import { ACCOUNT_OBJECTS, refusedAtTop } from "../../gateway-extension.ts"

export const bodyGuard = guardBody({
  members: [
    ...["model", "models", "fallbacks", "provider", "prompt", "n", "size", "quality", "response_format", "user"],
    ...["output_format", "output_compression", "background", "stream", "partial_images", "style", "moderation"],
  ],
  refused: refusedAtTop([]),
  refusedAnywhere: ACCOUNT_OBJECTS,
  opaque: ["metadata"],
})
