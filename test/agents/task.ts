// The task of every agent, and the tool calls that complete it.
import type { JsonObject } from "../conformance/conversation.ts"

/** The files of the folder that an agent works in. */
export const FILES = {
  "greeting.txt": "Hello, wolrd.\n",
  "notes.txt": "The greeting is meant for the whole world.\n",
} as const

export const PROMPT = "Read greeting.txt and notes.txt, then mend the misspelt word in greeting.txt."

export const MENDED = { file: "greeting.txt", wrong: "wolrd", right: "world", content: "Hello, world.\n" } as const

/** The model's last answer, which the agent must print. */
export const ANSWER = "The greeting is mended."

/** One call of a tool, in that agent's own words. */
export interface ToolUse {
  readonly tool: string
  readonly arguments: JsonObject
  /** A text in its result, by which the result is matched with the call. */
  readonly resultText: string
}

/** The turns of a model: the calls of each are made at once, and the next one waits for their results. */
export type ToolSteps = readonly (readonly ToolUse[])[]
