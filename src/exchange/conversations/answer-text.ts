// Keys that identify an assistant text when the conversation returns: a hash of the text and of the message it answers.
// White space is ignored, because clients trim it.
import { createHash } from "node:crypto"
import type { ConversationTurn } from "../../canonical/chat/chat-request.ts"
import type { ContentPart } from "../../canonical/chat/content-part.ts"

/** A shorter text, such as "Yes.", occurs in many conversations and identifies none. */
const MIN_TELLING_LENGTH = 40
/** As much of the question as is compared: tools give back megabytes. */
const MAX_QUESTION_LENGTH = 1024

/** The texts by which one answer may come back: all of it, and its last piece where a client keeps pieces apart. */
export interface AnswerText {
  readonly whole: string
  readonly last: string
}

/** The hash of the last message of a user or tool before a turn. */
export function hashQuestion(turns: readonly ConversationTurn[], before = turns.length): string {
  for (let index = before - 1; index >= 0; index--) {
    const turn = turns[index]
    if (turn?.role === "user") return hash(compact(textOf(turn.parts)).slice(0, MAX_QUESTION_LENGTH))
  }
  return hash("")
}

/** The keys under which an answer is kept; none for one without text. */
export function answerKeys({ whole, last }: AnswerText, question: string): string[] {
  return [...new Set([...textKeys(whole, question), ...textKeys(last, question)])]
}

/** The keys of a turn that comes back, the most telling first. */
export function turnKeys(parts: readonly ContentPart[], question: string): string[] {
  const texts = parts.flatMap((part) => (part.kind === "text" ? [part.text] : []))
  return answerKeys({ whole: texts.join(""), last: texts.at(-1) ?? "" }, question)
}

function textKeys(text: string, question: string): string[] {
  const answerText = compact(text)
  if (answerText === "") return []
  const key = hash(answerText)
  return answerText.length < MIN_TELLING_LENGTH ? [`${key}.${question}`] : [`${key}.${question}`, key]
}

function textOf(parts: readonly ContentPart[]): string {
  let text = ""
  for (const part of parts) {
    if (part.kind === "text") text += part.text
    else if (part.kind === "tool-result") text += textOf(part.parts)
    if (text.length > 2 * MAX_QUESTION_LENGTH) break
  }
  return text.slice(0, 2 * MAX_QUESTION_LENGTH)
}

function compact(text: string): string {
  return text.replace(/\s+/g, "")
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64url")
}
