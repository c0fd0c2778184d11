// What a request is being written under.
import type { UpstreamContext } from "../codec.ts"
import type { Family } from "./family.ts"

export interface Writing extends UpstreamContext {
  readonly family: Family
  /** The names of documents so far: no two in a request may bear the same. */
  readonly documents: Set<string>
}
