// What becomes of each setting when a request is said in another protocol. A setting without a fate does not compile.
import type { Settings } from "./request.ts"

export type Fate =
  /** It has a counterpart that means the same. */
  | "mapped"
  /** What comes nearest is sent, and the difference reported. */
  | "approximated"
  /** It is a hint: it is left out, and that is reported. */
  | "dropped"
  /** It changes what the caller observably gets, and cannot be said: the request is refused. */
  | "refused"

export interface Destiny {
  readonly fate: Fate
  /** For the documentation: the member it becomes, or why there is none. */
  readonly note: string
}

export type Fates = { readonly [Name in keyof Required<Settings>]: Destiny }
