// The vendor-neutral parts of a turn.

import type { Json } from "../json.ts"
import type { PassthroughFields } from "../passthrough-fields.ts"
import type { SealedContent } from "./sealed-content.ts"

export type ContentPart =
  | TextPart
  | MediaPart
  | ReasoningPart
  | ToolCallPart
  | ToolResultPart
  | RefusalPart
  | ForeignPart

interface PartBase {
  /** Path in the caller's request, such as `messages[2].content[0]`; losses are reported by it. */
  readonly at?: string
  /** A prompt-cache breakpoint follows this part. */
  readonly cacheMark?: CacheMark
  readonly extra?: PassthroughFields
}

export interface CacheMark {
  readonly ttl?: "5m" | "1h"
}

export interface TextPart extends PartBase {
  readonly kind: "text"
  readonly text: string
  readonly citations?: readonly Citation[]
}

export interface Citation {
  readonly url?: string
  readonly title?: string
  readonly quote?: string
  /** The span of the cited text, in UTF-16 units of this part. */
  readonly start?: number
  readonly end?: number
  readonly extra?: PassthroughFields
}

export interface MediaPart extends PartBase {
  readonly kind: "media"
  readonly media: "image" | "audio" | "video" | "document"
  readonly source: MediaSource
  readonly name?: string
  readonly detail?: string
}

export type MediaSource =
  | { readonly at: "text"; readonly mediaType: string; readonly text: string }
  | { readonly at: "inline"; readonly mediaType: string; readonly base64: string }
  | { readonly at: "url"; readonly url: string; readonly mediaType?: string }
  | { readonly at: "stored"; readonly id: string; readonly mintedBy: string }

export interface ReasoningPart extends PartBase {
  readonly kind: "reasoning"
  readonly form: "full" | "summary" | "hidden"
  readonly text: string
  readonly sealed?: SealedContent
}

export interface ToolCallPart extends PartBase {
  readonly kind: "tool-call"
  readonly id: string
  readonly name: string
  /** As written by the model: text, which need not be valid JSON. */
  readonly arguments: string
  /** Set if the arguments are not JSON but the text input of a custom tool. */
  readonly input?: "text"
  readonly runsAt: "client" | "provider"
  /** The label of the remote server that has the tool. */
  readonly server?: string
  readonly sealed?: SealedContent
}

export interface ToolResultPart extends PartBase {
  readonly kind: "tool-result"
  readonly callId: string
  /** The tool's name, if the protocol sends it with the id. */
  readonly name?: string
  readonly parts: readonly ContentPart[]
  readonly isError: boolean
  /** Set for a remote server's tool: the original block, followed by its result as text. */
  readonly isRemote?: true
}

export interface RefusalPart extends PartBase {
  readonly kind: "refusal"
  readonly text: string
}

/** A block only its own protocol understands. */
export interface ForeignPart extends PartBase {
  readonly kind: "foreign"
  readonly protocol: string
  readonly value: Json
}
