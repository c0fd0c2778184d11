// Which tool may, or must, be called.

import type { ToolChoice } from "../../../../canonical/chat/chat-request.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { approximated } from "../../../losses.ts"
import { ANSWER_TOOL } from "../answer-tool.ts"
import type { BedrockEncodeContext } from "./encode-context.ts"

/** Whether a tool must be called, whichever. */
export function isForced(choice: ToolChoice): boolean {
  return choice.mode === "required" || choice.mode === "tool" || (choice.mode === "some" && choice.required)
}

export interface ConverseToolChoice {
  readonly toolChoice?: JsonObject
  /** What is asked for in words, where the interface has none. */
  readonly instruction?: string
}

interface OfferedTools {
  /** The caller's tools that are sent, by name. */
  readonly names: readonly string[]
  /** Whether the tool that answers are given with is among them. */
  readonly answer: boolean
}

export function encodeChoice(
  choice: ToolChoice | undefined,
  offered: OfferedTools,
  writing: BedrockEncodeContext,
): ConverseToolChoice {
  const { names, answer } = offered
  if (choice && isForced(choice)) return encodeForced(choice, names, writing)
  if (answer) return { toolChoice: names.length > 0 ? { any: {} } : { tool: { name: ANSWER_TOOL } } }
  if (choice?.mode !== "none" || names.length === 0) return {}
  const why = "tools that were called before must be declared; the prompt says that none may be called"
  writing.losses.push(approximated.meaning("toolChoice", why))
  return { instruction: "Do not call any tool now." }
}

function encodeForced(
  choice: ToolChoice,
  names: readonly string[],
  { family, losses }: BedrockEncodeContext,
): ConverseToolChoice {
  const name = choice.mode === "tool" ? choice.name : undefined
  if (names.length === 0 || (name !== undefined && !names.includes(name))) throw unforceable()
  if (family.forces) return { toolChoice: name === undefined ? { any: {} } : { tool: { name } } }
  losses.push(approximated.meaning("toolChoice", "the model cannot be forced to call a tool; the prompt asks for it"))
  return { instruction: name === undefined ? "Call one of the tools now." : `Call the tool \`${name}\` now.` }
}

function unforceable(): GatewayError {
  const message =
    "`tool_choice` demands a tool that this model's provider cannot be forced to run. Choose another tool or model."
  return new GatewayError("unsupported_parameter", message, { param: "tool_choice" })
}
