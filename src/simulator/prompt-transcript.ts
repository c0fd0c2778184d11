// Collects what was said before the answer, whatever protocol it was said in.
import { isObject, type Json } from "../canonical/json.ts"
import { type OptionalJson, text as textOf } from "./endpoints/json-members.ts"
import type { PromptPiece } from "./prompt-cache.ts"

type PromptMark = PromptPiece["mark"]

export class PromptTranscript {
  readonly prompt: PromptPiece[] = []
  /** What the user said last, for an answer that shows it was heard. */
  lastWords = ""
  /** What tools answered since anybody else spoke. */
  toolResults: string[] = []

  /** Somebody other than a tool speaks. */
  begin(): void {
    this.toolResults = []
  }

  /** Instructions, tools, the assistant's own words: they count, but are not answered. */
  add(text: string, mark?: PromptMark): void {
    if (text !== "") this.prompt.push({ text, ...(mark && { mark }) })
  }

  /** Agents put reminders before the request, so the last text that says anything is what the user said. */
  user(text: string, mark?: PromptMark): void {
    this.add(text, mark)
    if (text.trim() !== "") this.lastWords = text
  }

  image(source: OptionalJson, mark?: PromptMark): void {
    this.prompt.push({ text: JSON.stringify(source ?? ""), isImage: true, ...(mark && { mark }) })
  }

  result(text: string, mark?: PromptMark): void {
    this.add(text, mark)
    this.toolResults.push(text)
  }
}

/** Text given as a string, or as parts that have some. */
export function plainText(content: OptionalJson): string {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content
    .map((part: Json) => (isObject(part) ? textOf(part.text) : textOf(part)))
    .filter((text) => text !== "")
    .join(" ")
}
