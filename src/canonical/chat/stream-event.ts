// A response as it arrives. Parts of one candidate may overlap in time; each is started, extended and ended by its
// number.
import type { GatewayError } from "../gateway-error.ts"
import type { Json } from "../json.ts"
import type { Usage } from "../usage.ts"
import type { CandidateFinish, TokenLogprob } from "./chat-response.ts"
import type { Citation, ForeignPart, MediaPart, ToolResultPart } from "./content-part.ts"
import type { SealedContent } from "./sealed-content.ts"

export type StreamEvent =
  | { readonly type: "stream-start"; readonly id?: string; readonly model?: string; readonly created?: number }
  | { readonly type: "part-start"; readonly candidate: number; readonly part: number; readonly start: PartStart }
  | { readonly type: "part-delta"; readonly candidate: number; readonly part: number; readonly text: string }
  | { readonly type: "part-cite"; readonly candidate: number; readonly part: number; readonly citation: Citation }
  | { readonly type: "part-end"; readonly candidate: number; readonly part: number; readonly sealed?: SealedContent }
  | { readonly type: "logprobs"; readonly candidate: number; readonly tokens: readonly TokenLogprob[] }
  | { readonly type: "candidate-end"; readonly candidate: number; readonly finish: CandidateFinish }
  | { readonly type: "usage"; readonly usage: Usage }
  | { readonly type: "foreign"; readonly protocol: string; readonly value: Json }
  | { readonly type: "stream-error"; readonly error: GatewayError }
  | { readonly type: "stream-end" }

export type PartStart =
  | { readonly kind: "text" }
  | { readonly kind: "refusal" }
  | { readonly kind: "reasoning"; readonly form: "full" | "summary" | "hidden" }
  | {
      readonly kind: "tool-call"
      readonly id: string
      readonly name: string
      readonly input?: "text"
      readonly runsAt: "client" | "provider"
      /** The seal, if it is known at the start; the end always has it. */
      readonly sealed?: SealedContent
      readonly server?: string
    }
  /** A part that does not grow: it is all there as it starts. */
  | { readonly kind: "whole"; readonly part: MediaPart | ForeignPart | ToolResultPart }

/**
 * True if the caller can see an answer by this event. Until the first one, an attempt may still move to another target.
 */
export function isMeaningful(event: StreamEvent): boolean {
  if (event.type === "part-delta") return event.text !== ""
  if (event.type === "part-start") return event.start.kind === "tool-call" || event.start.kind === "whole"
  return event.type === "candidate-end"
}

/** The part that these events extend, if they only extend one part and report usage. */
export function grownPartKey(events: readonly StreamEvent[]): string | undefined {
  const [event, counted] = events
  if (event?.type !== "part-delta" || events.length > 2 || (counted && counted.type !== "usage")) return undefined
  return `${event.candidate}.${event.part}`
}
