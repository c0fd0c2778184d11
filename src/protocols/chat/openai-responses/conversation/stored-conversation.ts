// Stored conversations in this protocol: adding a request's items, continuing one in the next request, and extracting
// the response from an answer. Texts are byte text.
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { toByteText } from "../../../../transport/json/byte-text.ts"
import { findMember, type JsonOutline, outlineJson } from "../../../../transport/json/json-scan.ts"
import { asciiOf, mapElements, spliceJson } from "../../../../transport/json/json-splice.ts"
import { decodeSse } from "../../../../transport/streams/sse.ts"
import { memberValue } from "../../../response-member.ts"
import { listInput } from "./list-input-items.ts"

/** A request's text and its outline. */
interface RequestDocument {
  readonly text: string
  readonly outline: JsonOutline
}

/** The input and the response of one turn. */
interface StoredTurn {
  /** As the request had it. */
  readonly input: Json
  readonly response: JsonObject
}

const WHOLE = ["response.completed", "response.incomplete"]

export const conversation = {
  inputOf,
  continued: prependItems,
  resolved: resolveItemReferences,
  itemsOf,
  itemIdsIn,
  findItem,
  answerIn: responseInBytes,
  listInput,
}

/** The request's own input, as it was written. */
function inputOf({ text, outline: outlined }: RequestDocument): string {
  const input = findMember(outlined, "input")
  return input ? text.slice(input.valueStart, input.end) : "[]"
}

/** The request with these items, joined by commas, before its own, so that it names no earlier response any more. */
function prependItems(document: RequestDocument, items: string): string {
  const input = inputOf(document)
  const own = input.startsWith("[") ? input.slice(1) : `${messageOf(input)}]`
  const isAlone = items === "" || /^\s*\]$/.test(own)
  return spliceJson(
    document.text,
    [
      { path: ["input"], set: `[${items}${isAlone ? "" : ","}${own}` },
      { path: ["previous_response_id"], remove: true },
    ],
    document.outline,
  )
}

/** Replaces item references in the input with the items themselves. */
function resolveItemReferences({ text }: RequestDocument, items: ReadonlyMap<number, Json>): string {
  return mapElements(text, "input", (element, index) => {
    const item = items.get(index)
    if (item === undefined) return element
    return isGivenBack(item) ? asciiOf(item) : undefined
  })
}

/** The message that is equivalent to a plain-text input. */
function messageOf(text: string): string {
  return `{"type":"message","role":"user","content":${text}}`
}

/** The items before the next turn's input. */
function itemsOf({ input, response }: StoredTurn): Json[] {
  const inputItems: readonly Json[] = Array.isArray(input) ? input : [{ type: "message", role: "user", content: input }]
  const answered: readonly Json[] = Array.isArray(response.output) ? response.output : []
  return [...inputItems, ...answered.filter(isGivenBack)]
}

/** More items of one response are not found by their ids. */
const MAX_ITEMS = 1000

/** The item ids in a response's JSON. */
function itemIdsIn(response: string): string[] {
  const outlined = outlineJson(response)
  const output = outlined && memberValue(response, outlined, "output")
  const ids = Array.isArray(output) ? output.slice(0, MAX_ITEMS).map(idOf) : []
  return [...new Set(ids.filter((id) => id !== undefined))]
}

/** The item of a turn that has this id. */
function findItem({ response }: StoredTurn, id: string): Json | undefined {
  return Array.isArray(response.output) ? response.output.find((item) => idOf(item) === id) : undefined
}

function idOf(item: Json): string | undefined {
  return isObject(item) && typeof item.id === "string" && item.id !== "" ? item.id : undefined
}

/** Unsealed reasoning is unknown to a provider that stores nothing, which would refuse it. */
function isGivenBack(item: Json): boolean {
  return !(isObject(item) && item.type === "reasoning" && typeof item.encrypted_content !== "string")
}

/** The response in the last bytes of an answer, as JSON; undefined if it is not stored. */
function responseInBytes(bytes: Uint8Array): string | undefined {
  const text = toByteText(bytes)
  const response = text.startsWith("{") ? text : endingIn(text)
  const outlined = response === undefined ? undefined : outlineJson(response)
  return response !== undefined && outlined && memberValue(response, outlined, "store") === true ? response : undefined
}

/** The response in the event that ends a stream. */
function endingIn(text: string): string | undefined {
  const frames = decodeSse()
  for (const { data = "" } of [...frames.push(text), ...frames.finish()].reverse()) {
    const outlined = outlineJson(data)
    const type = outlined && memberValue(data, outlined, "type")
    if (!outlined || typeof type !== "string" || !WHOLE.includes(type)) continue
    const response = findMember(outlined, "response")
    return response && data.slice(response.valueStart, response.end)
  }
  return undefined
}
