// The text in requests and answers, for when its tokens have to be counted here.
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"
import type { Part } from "../canonical/part.ts"
import type { ChatRequest, Tool } from "../canonical/request.ts"
import type { ChatResponse } from "../canonical/response.ts"

/** What is to be counted: text, and tokens that are known by other means. */
export interface Countable {
  readonly text: string
  readonly tokens: number
}

/** Vendors count pictures and pages by their size, which is not looked at here. */
const TOKENS_PER_MEDIUM = 1000

export function textOfRequest({ instructions, turns, tools }: ChatRequest): Countable {
  const parts = [...instructions, ...turns.flatMap((turn) => turn.parts)]
  return joined([...tools.map(textOfTool), ...parts.map(textOfPart)])
}

export function textOfResponse({ candidates }: ChatResponse): string {
  return joined(candidates.flatMap(({ parts }) => parts.map(textOfPart))).text
}

/** Of requests that are no conversation: what is to be embedded or drawn. */
export function textOfInput({ input, prompt }: JsonObject): Countable {
  return joined([textOfJson(input ?? null), textOfJson(prompt ?? null)])
}

function textOfJson(value: Json): Countable {
  if (typeof value === "string") return { text: value, tokens: 0 }
  if (typeof value === "number") return { text: "", tokens: 1 }
  return Array.isArray(value) ? joined(value.map(textOfJson)) : NOTHING
}

function textOfTool(tool: Tool): Countable {
  const { name } = tool
  if (tool.kind === "hosted") return { text: `${name}\n${JSON.stringify(tool.value)}`, tokens: 0 }
  const shape = tool.kind === "function" ? tool.parameters : tool.format
  const text = [name, tool.description ?? "", isObject(shape) ? JSON.stringify(shape) : ""].join("\n")
  return { text, tokens: 0 }
}

function textOfPart(part: Part): Countable {
  switch (part.kind) {
    case "text":
    case "reasoning":
    case "refusal":
      return { text: part.text, tokens: 0 }
    case "tool-call":
      return { text: `${part.name}\n${part.arguments}`, tokens: 0 }
    case "tool-result":
      return joined(part.parts.map(textOfPart))
    case "media":
      return part.source.at === "text" ? { text: part.source.text, tokens: 0 } : { text: "", tokens: TOKENS_PER_MEDIUM }
    case "foreign":
      return { text: JSON.stringify(part.value), tokens: 0 }
  }
}

const NOTHING: Countable = { text: "", tokens: 0 }

function joined(all: readonly Countable[]): Countable {
  return {
    text: all.flatMap(({ text }) => (text === "" ? [] : [text])).join("\n"),
    tokens: all.reduce((sum, { tokens }) => sum + tokens, 0),
  }
}
