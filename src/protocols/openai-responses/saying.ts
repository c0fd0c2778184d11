// What the writers of a request share: whose words they write, for whom, and how they say that something cannot be said.
import { GatewayError } from "../../canonical/error.ts"
import type { CacheMark } from "../../canonical/part.ts"
import type { Sealed } from "../../canonical/sealed.ts"
import type { UpstreamContext } from "../codec.ts"
import { type Draft, dropped, member } from "../openai-fields.ts"
import { PROTOCOL, type Written } from "./own.ts"

export interface Saying {
  /** Whether the request came in this protocol, and goes back as it was written. */
  readonly own: boolean
  /** How the caller wrote the request's own members. */
  readonly written: Written
  readonly context: UpstreamContext
}

export function refused(param: string, sentence: string): GatewayError {
  return new GatewayError("unsupported_parameter", `\`${param}\` ${sentence}`, { param })
}

export function mayReturn({ mintedBy }: Sealed, { context }: Saying): boolean {
  return mintedBy === context.minter || mintedBy === PROTOCOL
}

interface Marked {
  readonly at?: string
  readonly cacheMark?: CacheMark
}

/** Prompts are cached without being told; only the newest models take a mark, and only their callers know that. */
export function writeMark(draft: Draft, { at, cacheMark }: Marked, { own, context }: Saying): void {
  if (!cacheMark) return
  if (own) draft.prompt_cache_breakpoint = { mode: "explicit" }
  else context.losses.push(dropped(member(at, "cache_control"), "hint", "the provider caches prompts without marks"))
}
