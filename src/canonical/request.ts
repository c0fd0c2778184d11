// A request, in no vendor's words: instructions, turns, tools, settings, and where the caller wishes it to go.
import type { Extra } from "./extra.ts"
import type { Json } from "./json.ts"
import type { Part } from "./part.ts"

export interface ChatRequest {
  readonly model: string
  /** Parts, not a string: cache marks live here. */
  readonly instructions: readonly Part[]
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly toolChoice?: ToolChoice
  readonly settings: Settings
  readonly stream: boolean
  readonly routing: RoutingWishes
  readonly extra?: Extra
}

export interface Turn {
  readonly role: "instruction" | "user" | "assistant"
  readonly parts: readonly Part[]
  readonly extra?: Extra
}

export type Tool =
  | {
      readonly kind: "function"
      readonly name: string
      readonly description?: string
      readonly parameters?: Json
      readonly strict?: boolean
      readonly extra?: Extra
    }
  | { readonly kind: "hosted"; readonly name: string; readonly protocol: string; readonly value: Json }

export type ToolChoice =
  | { readonly mode: "auto" | "none" | "required" }
  | { readonly mode: "tool"; readonly name: string }

/** Each codec states a fate for every one of these; a new setting does not compile until all have. */
export interface Settings {
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly frequencyPenalty?: number
  readonly presencePenalty?: number
  readonly stop?: readonly string[]
  readonly seed?: number
  readonly candidates?: number
  readonly logprobs?: number
  readonly format?: OutputFormat
  readonly reasoning?: ReasoningWish
  readonly parallelToolCalls?: boolean
  readonly cacheKey?: string
  readonly endUser?: string
}

export type OutputFormat =
  | { readonly kind: "text" | "json" }
  | { readonly kind: "schema"; readonly name?: string; readonly schema: Json; readonly strict?: boolean }

export interface ReasoningWish {
  readonly effort?: "none" | "minimal" | "low" | "medium" | "high" | "max"
  readonly budgetTokens?: number
  readonly show?: "full" | "summary" | "hidden"
}

/** The `provider` extension of a request body, the same in every protocol. */
export interface RoutingWishes {
  readonly strategy?: "cost" | "latency" | "quality"
  readonly fallback: readonly string[]
}
