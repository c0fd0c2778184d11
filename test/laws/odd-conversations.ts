// Unusual but legal conversations: valid in their own protocol, and possibly invalid for another receiver.
import fc from "fast-check"
import type { ChatRequest, ConversationTurn, ToolDefinition } from "../../src/canonical/chat/chat-request.ts"
import type { ContentPart } from "../../src/canonical/chat/content-part.ts"

const textPart = (text: string): ContentPart => ({ kind: "text", text, at: "messages[0].content" })
const turn = (role: ConversationTurn["role"], ...parts: ContentPart[]): ConversationTurn => ({
  role,
  parts,
  at: "messages[0]",
})

/** Each oddity is legal in one of the four protocols. */
const ODDITIES: Readonly<Record<string, (request: ChatRequest) => ChatRequest>> = {
  "an empty text at the end of each turn": (request) => ({
    ...request,
    turns: request.turns.map((each) => ({ ...each, parts: [...each.parts, textPart("")] })),
  }),
  "white space alone before what the user says": (request) => ({
    ...request,
    turns: request.turns.map((each) => {
      const opens = each.role === "user" && each.parts[0]?.kind === "text"
      return opens ? { ...each, parts: [textPart(" \n"), ...each.parts] } : each
    }),
  }),
  "empty instructions": (request) => ({ ...request, instructions: [...request.instructions, textPart("")] }),
  "instructions amid the turns": ({ turns, ...request }) => ({
    ...request,
    turns: [turns.slice(0, -1), turn("instruction", textPart("now shout")), turns.slice(-1)].flat(),
  }),
  "instructions at the end": ({ turns, ...request }) => ({
    ...request,
    turns: [...turns, turn("instruction", textPart("now shout"))],
  }),
  "each part in a turn of its own": ({ turns, ...request }) => ({
    ...request,
    turns: turns.flatMap((each) => each.parts.map((part) => ({ ...each, parts: [part] }))),
  }),
  "the assistant begins": ({ turns, ...request }) => ({
    ...request,
    turns: [turn("assistant", textPart("How may I help?")), ...turns],
  }),
  "a call begins": ({ turns, tools, ...request }) => {
    const { name = "f" } = tools[0] ?? {}
    const call: ContentPart = { kind: "tool-call", id: "call_first", name, arguments: "{}", runsAt: "client" }
    const result: ContentPart = {
      kind: "tool-result",
      callId: "call_first",
      name,
      parts: [textPart("done")],
      isError: false,
    }
    return { ...request, tools, turns: [turn("assistant", call), turn("user", result), ...turns] }
  },
  "the answer has begun": ({ turns, ...request }) => ({
    ...request,
    turns: [...turns, turn("assistant", textPart("The answer is "))],
  }),
  "an empty answer": ({ turns, ...request }) => ({
    ...request,
    turns: [turn("user", textPart("hi")), turn("assistant", textPart("")), ...turns],
  }),
  "results of nothing": (request) => ({
    ...request,
    turns: request.turns.map((each) => ({
      ...each,
      parts: each.parts.map((part) => (part.kind === "tool-result" ? { ...part, parts: [] } : part)),
    })),
  }),
  "words behind results": (request) => ({
    ...request,
    turns: request.turns.map((each) => {
      const answers = each.parts.some(({ kind }) => kind === "tool-result")
      return answers ? { ...each, parts: [...each.parts, textPart("and?")] } : each
    }),
  }),
  "arguments that are no JSON": (request) => ({
    ...request,
    turns: request.turns.map((each) => ({
      ...each,
      parts: each.parts.map((part) => (part.kind === "tool-call" ? { ...part, arguments: "" } : part)),
    })),
  }),
  "names no vendor takes": (request) => ({
    ...request,
    tools: request.tools.map((tool): ToolDefinition => ({ ...tool, name: `${tool.name}.für alle` })),
    turns: request.turns.map((each) => ({
      ...each,
      parts: each.parts.map((part) => (part.kind === "tool-call" ? { ...part, name: `${part.name}.für alle` } : part)),
    })),
    ...(request.toolChoice?.mode === "tool" && {
      toolChoice: { mode: "tool", name: `${request.toolChoice.name}.für alle` },
    }),
  }),
  "a tool of plain text": (request) => ({
    ...request,
    tools: [...request.tools, { kind: "custom", name: "patch", description: "a patch", at: "tools[9]" }],
  }),
  "tools without a schema": (request) => ({
    ...request,
    tools: request.tools.map(({ name }): ToolDefinition => ({ kind: "function", name, at: "tools[0]" })),
  }),
  "no tools, though some were called": ({ toolChoice: _, ...request }) => ({ ...request, tools: [] }),
  "strict tools": (request) => ({
    ...request,
    tools: request.tools.map((tool): ToolDefinition => (tool.kind === "function" ? { ...tool, strict: true } : tool)),
  }),
  "a hidden thought of another": ({ turns, ...request }) => ({
    ...request,
    turns: turns.map((each) => {
      const sealed = { mintedBy: "another", data: "c2VhbA==" }
      const thought: ContentPart = { kind: "reasoning", form: "hidden", text: "", sealed, at: each.at ?? "" }
      return each.role === "assistant" ? { ...each, parts: [thought, ...each.parts] } : each
    }),
  }),
}

/** The same conversations with one to three oddities each. */
export function odd(usual: fc.Arbitrary<ChatRequest>): fc.Arbitrary<ChatRequest> {
  const names = fc.uniqueArray(fc.constantFrom(...Object.keys(ODDITIES)), { minLength: 1, maxLength: 3 })
  return fc
    .tuple(usual, names)
    .map(([request, chosen]) => chosen.reduce((made, name) => ODDITIES[name]?.(made) ?? made, request))
}
