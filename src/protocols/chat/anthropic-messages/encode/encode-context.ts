// The context in which a request is encoded.
import type { UpstreamRequestContext } from "../../../chat-codec.ts"

export interface AnthropicEncodeContext extends UpstreamRequestContext {
  /** True if the caller used this protocol: the request goes out unchanged, and the vendor validates it. */
  readonly own: boolean
}
