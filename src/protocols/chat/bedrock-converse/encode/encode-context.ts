// The context in which a request is encoded.
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import type { ModelFamily } from "../model-family.ts"

export interface BedrockEncodeContext extends UpstreamRequestContext {
  readonly family: ModelFamily
  /** The names of documents so far: no two in a request may bear the same. */
  readonly documents: Set<string>
}
