// A request to the simulator, independent of the protocol. Its JSON seeds the identifiers of the answer.
import type { Json } from "../canonical/json.ts"
import type { PromptPiece } from "./prompt-cache.ts"

export interface SimulatedRequest {
  readonly model: string
  /** The whole prompt in order: tools, instructions, turns. */
  readonly prompt: readonly PromptPiece[]
  readonly lastWords: string
  readonly toolResults: readonly string[]
  readonly tools: readonly SimulatedTool[]
  readonly toolChoice: SimulatedToolChoice
  readonly parallelToolCalls: boolean
  readonly format?: AnswerFormat | undefined
  readonly maxOutputTokens?: number | undefined
  readonly stop: readonly string[]
  readonly count: number
  readonly reasoning: boolean
}

/** The answer must be JSON: of this schema, or any object without one. */
export interface AnswerFormat {
  readonly schema?: Json | undefined
  /** A string is answered without quotation marks. */
  readonly bare?: true
}

export interface SimulatedTool {
  readonly name: string
  readonly description: string
  readonly schema?: Json | undefined
}

export interface SimulatedToolChoice {
  readonly mode: "auto" | "none" | "required"
  /** The only tools that may be called. */
  readonly only?: readonly string[] | undefined
}
