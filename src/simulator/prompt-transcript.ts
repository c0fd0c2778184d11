// Collects the prompt of a request, independent of its protocol.
import { isObject, type Json } from "../canonical/json.ts"
import { type OptionalJson, text as textOf } from "./endpoints/json-members.ts"
import type { PromptPiece } from "./prompt-cache.ts"

type PromptMark = PromptPiece["mark"]

export class PromptTranscript {
  readonly prompt: PromptPiece[] = []
  /** The last text of the user, which the answer quotes. */
  lastWords = ""
  /** Tool results since the last message that is not one. */
  toolResults: string[] = []

  /** Begins a message that is not a tool result. */
  begin(): void {
    this.toolResults = []
  }

  /** Adds a part that counts as input but is not quoted: instructions, tools, the assistant's own text. */
  add(text: string, mark?: PromptMark): void {
    if (text !== "") this.prompt.push({ text, ...(mark && { mark }) })
  }

  /** Agents put reminders before the request, so the last non-empty text is the user's. */
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

/** Text given as a string, or as a list of text parts. */
export function plainText(content: OptionalJson): string {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content
    .map((part: Json) => (isObject(part) ? textOf(part.text) : textOf(part)))
    .filter((text) => text !== "")
    .join(" ")
}
