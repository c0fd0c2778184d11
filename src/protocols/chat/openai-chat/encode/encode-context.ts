// Shared by the encoders of a request: the context, seals, cache marks and errors.

import type { CacheMark } from "../../../../canonical/chat/content-part.ts"
import type { SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import { dropped, memberPath } from "../../../losses.ts"
import type { JsonDraft } from "../../../openai/field-reader.ts"
import { type ChatWriting, PROTOCOL } from "../passthrough-fields.ts"

export interface ChatEncodeContext {
  /** True if the request came in this protocol and returns as it was written. */
  readonly own: boolean
  /** The form of the request's own members. */
  readonly written: ChatWriting
  readonly context: UpstreamRequestContext
}

export function unsupportedSetting(param: string, sentence: string): GatewayError {
  return new GatewayError("unsupported_parameter", `\`${param}\` ${sentence}`, { param })
}

export function maySendSeal({ mintedBy }: SealedContent, { context }: ChatEncodeContext): boolean {
  return mintedBy === context.minter || mintedBy === PROTOCOL
}

interface CacheMarkedItem {
  readonly at?: string
  readonly cacheMark?: CacheMark
}

/** Prompts are cached without marks; a mark written in this protocol is for a host that requires it. */
export function writeMark(
  draft: JsonDraft,
  { at, cacheMark }: CacheMarkedItem,
  { word, encodeContext }: { word: ChatWriting["word"]; encodeContext: ChatEncodeContext },
) {
  if (!cacheMark) return
  if (word === "prompt_cache_breakpoint") draft.prompt_cache_breakpoint = { mode: "explicit" }
  else if (word === "cache_control")
    draft.cache_control = { type: "ephemeral", ...(cacheMark.ttl && { ttl: cacheMark.ttl }) }
  else {
    const why = "chat completions caches prompts without marks"
    encodeContext.context.losses.push(dropped.hint(memberPath(at, "cache_control"), why))
  }
}
