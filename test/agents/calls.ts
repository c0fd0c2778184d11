// What a model says of its calls, and whether it hears the same of them again, each with its own result.
import type { HeardPart, MatrixTool, MatrixToolCall } from "../matrix/conversation.ts"
import { list, members } from "../matrix/wire.ts"
import type { ToolSteps, ToolUse } from "./task.ts"

export function callsOf(uses: readonly ToolUse[], step: number): MatrixToolCall[] {
  return uses.map(({ tool: name, arguments: said }, index) => ({ id: `call_${step}_${index}`, name, arguments: said }))
}

/** Why these arguments would not be a model's for this tool. */
export function misfits({ tool: name, arguments: said }: ToolUse, tool: MatrixTool | undefined): string[] {
  if (!tool) return [`no tool ${name} was offered`]
  const { properties, required } = members(tool.schema)
  const known = members(properties)
  return [
    ...Object.keys(said).flatMap((member) => (member in known ? [] : [`the schema of ${name} lacks ${member}`])),
    ...list(required).flatMap((member) => (String(member) in said ? [] : [`${name} requires ${member}`])),
  ]
}

interface TurnScript {
  readonly steps: ToolSteps
  /** Whether the vendor gives its calls ids; else they go by their order. */
  readonly haveIds: boolean
}

export function wrongCalls(parts: readonly HeardPart[], { steps, haveIds }: TurnScript): string[] {
  const told = parts.flatMap((part) => (part.kind === "call" ? [part.call] : []))
  const expected = steps.flatMap((uses, step) => callsOf(uses, step).map((call, at) => ({ call, use: uses[at] })))
  if (told.length !== expected.length) return [`${expected.length} calls were made, and ${told.length} are told of`]
  return expected.flatMap(({ call, use }, index) => {
    const again = told[index]
    const isSame = again && call.name === again.name && Bun.deepEquals(call.arguments, again.arguments)
    const isIt = isSame && (!haveIds || call.id === again.id)
    if (!isIt) return [`the call ${JSON.stringify(call)} came back as ${JSON.stringify(again)}`]
    const result = parts.find((part) => part.kind === "result" && part.callId === again.id)
    const tells = result?.kind === "result" ? result.text : "nothing"
    return tells.includes(use?.tells ?? "")
      ? []
      : [`the result of ${JSON.stringify(call)} tells ${tells.slice(0, 300)}`]
  })
}
