// What the writers of a request share: whose words they write, for whom, and how they say that something cannot be said.

import type { CacheMark } from "../../../../canonical/chat/content-part.ts"
import type { SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import { dropped, memberPath } from "../../../losses.ts"
import type { JsonDraft } from "../../../openai/field-reader.ts"
import { PROTOCOL, type ResponsesWriting } from "../passthrough-fields.ts"

export interface ResponsesEncodeContext {
  /** Whether the request came in this protocol, and goes back as it was written. */
  readonly own: boolean
  /** How the caller wrote the request's own members. */
  readonly written: ResponsesWriting
  readonly context: UpstreamRequestContext
}

export function unsupportedSetting(param: string, sentence: string): GatewayError {
  return new GatewayError("unsupported_parameter", `\`${param}\` ${sentence}`, { param })
}

export function maySendSeal({ mintedBy }: SealedContent, { context }: ResponsesEncodeContext): boolean {
  return mintedBy === context.minter || mintedBy === PROTOCOL
}

interface CacheMarkedPart {
  readonly at?: string
  readonly cacheMark?: CacheMark
}

/** Prompts are cached without being told; only the newest models take a mark, and only their callers know that. */
export function writeMark(
  draft: JsonDraft,
  { at, cacheMark }: CacheMarkedPart,
  { own, context }: ResponsesEncodeContext,
): void {
  if (!cacheMark) return
  if (own) draft.prompt_cache_breakpoint = { mode: "explicit" }
  else context.losses.push(dropped.hint(memberPath(at, "cache_control"), "the provider caches prompts without marks"))
}
