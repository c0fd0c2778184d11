// The fate of each setting when a request is translated. A setting without a fate does not compile.
import type { ChatSettings } from "./chat/chat-request.ts"

export type SettingFate =
  /** It has a counterpart that means the same. */
  | "mapped"
  /** The nearest equivalent is sent, and the difference reported. */
  | "approximated"
  /** It is a hint: it is left out, and that is reported. */
  | "dropped"
  /** Its loss would change the response visibly: the request is rejected. */
  | "refused"

export interface FateEntry {
  readonly fate: SettingFate
  /** For the documentation: the member it becomes, or the reason why there is none. */
  readonly note: string
}

export type SettingFates = { readonly [Name in keyof Required<ChatSettings>]: FateEntry }
