// Shared by the encoders of a request: the context, seals, cache marks and errors.

import type { CacheMark } from "../../../../canonical/chat/content-part.ts"
import type { SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import { dropped, memberPath } from "../../../losses.ts"
import type { JsonDraft } from "../../../openai/field-reader.ts"
import { PROTOCOL, type ResponsesWriting } from "../passthrough-fields.ts"

export interface ResponsesEncodeContext {
  /** True if the request came in this protocol and returns as it was written. */
  readonly own: boolean
  /** The form of the request's own members. */
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

/** Prompts are cached without marks; only the newest models accept one, and only in requests of this protocol. */
export function writeMark(
  draft: JsonDraft,
  { at, cacheMark }: CacheMarkedPart,
  { own, context }: ResponsesEncodeContext,
): void {
  if (!cacheMark) return
  if (own) draft.prompt_cache_breakpoint = { mode: "explicit" }
  else context.losses.push(dropped.hint(memberPath(at, "cache_control"), "the provider caches prompts without marks"))
}
