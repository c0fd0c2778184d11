// A vendor-neutral chat request: instructions, turns, tools, settings, and routing options.

import type { Json } from "../json.ts"
import type { PassthroughFields } from "../passthrough-fields.ts"
import type { CacheMark, ContentPart } from "./content-part.ts"

export interface ChatRequest {
  readonly model: string
  /** Parts, not a string: cache marks live here. */
  readonly instructions: readonly ContentPart[]
  readonly turns: readonly ConversationTurn[]
  readonly tools: readonly ToolDefinition[]
  readonly toolChoice?: ToolChoice
  readonly settings: ChatSettings
  readonly stream: boolean
  readonly routing: RoutingOptions
  readonly extra?: PassthroughFields
}

export interface ConversationTurn {
  /** Path in the caller's request, such as `messages[2]`. */
  readonly at?: string
  readonly role: "instruction" | "user" | "assistant"
  readonly parts: readonly ContentPart[]
  readonly extra?: PassthroughFields
}

export type ToolDefinition = FunctionTool | CustomTool | HostedTool

interface ToolBase {
  /** Path in the caller's request, such as `tools[0]`. */
  readonly at?: string
  readonly name: string
  readonly cacheMark?: CacheMark
  readonly extra?: PassthroughFields
}

export interface FunctionTool extends ToolBase {
  readonly kind: "function"
  readonly description?: string
  /** JSON Schema, as the caller wrote it. */
  readonly parameters?: Json
  readonly strict?: boolean
}

/** A tool of the caller with plain-text input, which may follow a grammar. */
export interface CustomTool extends ToolBase {
  readonly kind: "custom"
  readonly description?: string
  readonly format?: Json
}

/** A tool that the provider runs, or that only its own protocol understands. */
export interface HostedTool extends ToolBase {
  readonly kind: "hosted"
  readonly purpose: "web-search" | "web-fetch" | "code" | "images" | "files" | "computer" | "shell" | "mcp" | "other"
  readonly protocol: string
  /** The whole definition, in its own protocol. */
  readonly value: Json
  /** The remote server of its tools, if another protocol can call them in the same way. */
  readonly server?: RemoteServer
}

/** A server with tools that the provider calls by the Model Context Protocol. */
export interface RemoteServer {
  readonly label: string
  readonly url: string
  /** A bearer token. */
  readonly authorization?: string
  /** Left out, all. */
  readonly allowedTools?: readonly string[]
}

export type ToolChoice =
  | { readonly mode: "auto" | "none" | "required" }
  | { readonly mode: "tool"; readonly name: string }
  /** Only these tools may be called; if `required`, one of them must be. */
  | { readonly mode: "some"; readonly names: readonly string[]; readonly required: boolean }

/** Each codec states a fate for every one of these; a new setting does not compile until all have. */
export interface ChatSettings {
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly frequencyPenalty?: number
  readonly presencePenalty?: number
  readonly stop?: readonly string[]
  readonly seed?: number
  readonly candidates?: number
  /** Number of alternatives per token; 0 returns only the chosen token. */
  readonly logprobs?: number
  readonly format?: OutputFormat
  readonly reasoning?: ReasoningSettings
  readonly parallelToolCalls?: boolean
  readonly verbosity?: "low" | "medium" | "high"
  /** The output modalities, if not text only. */
  readonly modalities?: readonly ("text" | "image" | "audio")[]
  readonly cacheKey?: string
  readonly endUser?: string
}

export type OutputFormat =
  | { readonly kind: "text" | "json" }
  | { readonly kind: "schema"; readonly name?: string; readonly schema: Json; readonly strict?: boolean }

export interface ReasoningSettings {
  readonly effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max"
  readonly budgetTokens?: number
  readonly show?: "full" | "summary" | "hidden"
}

/** The criteria by which targets are ordered. */
export const STRATEGIES = ["cost", "latency", "quality"] as const
export type RoutingStrategy = (typeof STRATEGIES)[number]

/** The `provider` extension of a request body, the same in every protocol. */
export interface RoutingOptions {
  readonly strategy?: RoutingStrategy
  readonly fallback: readonly string[]
  /** The top-level member that lists the fallback models, and how many of its entries name the model itself. */
  readonly fallbackList?: { readonly member: "models" | "fallbacks"; readonly skipped: number }
  /** Rather refused than changed in meaning. */
  readonly strict?: boolean
  /** Providers by id: those to try first, the only ones to try, those not to try. */
  readonly order?: readonly string[]
  readonly only?: readonly string[]
  readonly ignore?: readonly string[]
  readonly maxPrice?: MaxPrice
  /** Set if only the best target of each model is tried. */
  readonly allowFallbacks?: false
  /** Only targets that support every parameter of the request. */
  readonly requireParameters?: boolean
  /** Allows a hedged call to a second target when the first is slow; absent if the key decides. */
  readonly hedge?: boolean
  /** Requests the plan only, without a call. */
  readonly explain?: boolean
  /** Losses in full on the receipt. */
  readonly report?: boolean
}

/** In USD per million tokens. */
export interface MaxPrice {
  readonly prompt?: number
  readonly completion?: number
}
