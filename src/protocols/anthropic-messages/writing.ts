// What a request is being written under.
import type { UpstreamContext } from "../codec.ts"

export interface Writing extends UpstreamContext {
  /** Whether the caller wrote it in this protocol: then it goes out as it was, and the vendor judges it. */
  readonly own: boolean
}
