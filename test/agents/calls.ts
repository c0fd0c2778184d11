// Compares the tool calls that a model made with those it receives back, each with its own result.
import type { MatrixTool, MatrixToolCall, ReceivedPart } from "../conformance/conversation.ts"
import { list, members } from "../conformance/wire.ts"
import type { ToolSteps, ToolUse } from "./task.ts"

export function callsOf(uses: readonly ToolUse[], step: number): MatrixToolCall[] {
  return uses.map(({ tool: name, arguments: input }, index) => ({
    id: `call_${step}_${index}`,
    name,
    arguments: input,
  }))
}

/** Why these arguments would not be a model's for this tool. */
export function misfits({ tool: name, arguments: input }: ToolUse, tool: MatrixTool | undefined): string[] {
  if (!tool) return [`no tool ${name} was offered`]
  const { properties, required } = members(tool.schema)
  const known = members(properties)
  return [
    ...Object.keys(input).flatMap((member) => (member in known ? [] : [`the schema of ${name} lacks ${member}`])),
    ...list(required).flatMap((member) => (String(member) in input ? [] : [`${name} requires ${member}`])),
  ]
}

interface TurnScript {
  readonly steps: ToolSteps
  /** Whether the vendor gives its calls ids; otherwise they are matched by order. */
  readonly haveIds: boolean
}

export function wrongCalls(parts: readonly ReceivedPart[], { steps, haveIds }: TurnScript): string[] {
  const received = parts.flatMap((part) => (part.kind === "call" ? [part.call] : []))
  const expected = steps.flatMap((uses, step) => callsOf(uses, step).map((call, at) => ({ call, use: uses[at] })))
  if (received.length !== expected.length)
    return [`${expected.length} calls were made, and ${received.length} came back`]
  return expected.flatMap(({ call, use }, index) => {
    const again = received[index]
    const isSame = again && call.name === again.name && Bun.deepEquals(call.arguments, again.arguments)
    const isIt = isSame && (!haveIds || call.id === again.id)
    if (!isIt) return [`the call ${JSON.stringify(call)} came back as ${JSON.stringify(again)}`]
    const result = parts.find((part) => part.kind === "result" && part.callId === again.id)
    const resultText = result?.kind === "result" ? result.text : "nothing"
    return resultText.includes(use?.resultText ?? "")
      ? []
      : [`the result of ${JSON.stringify(call)} tells ${resultText.slice(0, 300)}`]
  })
}
