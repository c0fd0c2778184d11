// What a request is being written under.
import type { UpstreamRequestContext } from "../../../chat-codec.ts"

export interface AnthropicEncodeContext extends UpstreamRequestContext {
  /** Whether the caller wrote it in this protocol: then it goes out as it was, and the vendor judges it. */
  readonly own: boolean
}
