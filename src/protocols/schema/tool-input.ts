// Converts a call's arguments, which are text, to the object that some protocols require.

import type { ToolCallPart } from "../../canonical/chat/content-part.ts"
import { isObject, type JsonObject, parseJson } from "../../canonical/json.ts"

/** The only member of a call with plain-text input: a custom tool becomes a function of one string. */
export const TEXT_INPUT = "input"

export function toolInput(call: Pick<ToolCallPart, "arguments" | "input">): { input: JsonObject; exact: boolean } {
  const { arguments: text, input: form } = call
  if (form === "text") return { input: { [TEXT_INPUT]: text }, exact: true }
  if (text.trim() === "") return { input: {}, exact: true }
  const value = parseJson(text)
  return isObject(value) ? { input: value, exact: true } : { input: { [TEXT_INPUT]: text }, exact: false }
}
