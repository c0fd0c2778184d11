// The numbered events of a streamed response, in OpenAI's order.
import type { JsonObject } from "../../canonical/json.ts"
import type { SimulatedEvent } from "../simulated-call.ts"
import { objects } from "./json-members.ts"

/** A finished item, the tokens that its opening event counts, and the tokens of its deltas. */
export interface OutputItem {
  readonly item: JsonObject
  readonly opening: number
  readonly tokens: readonly string[]
}

interface StreamedResponse {
  readonly begun: JsonObject
  readonly items: readonly OutputItem[]
  readonly ended: JsonObject
}

export function* responseEvents(growing: StreamedResponse): Generator<SimulatedEvent> {
  let sequence_number = 0
  for (const { event, ...counts } of unnumberedEvents(growing)) {
    const { type = "", ...rest } = event
    yield { event: { type, sequence_number, ...rest }, ...counts }
    sequence_number++
  }
}

function* unnumberedEvents({ begun, items, ended }: StreamedResponse): Generator<SimulatedEvent> {
  yield { event: { type: "response.created", response: begun }, tokens: 0 }
  yield { event: { type: "response.in_progress", response: begun }, tokens: 0 }
  for (const [output_index, { item, opening, tokens }] of items.entries()) {
    const added = { type: "response.output_item.added", output_index, item: { ...item, ...emptyItemMembers(item) } }
    yield { event: added, tokens: opening }
    for (const { type = "", ...rest } of itemEvents(item, tokens)) {
      // Only deltas carry text, one token each.
      yield { event: { type, item_id: item.id ?? "", output_index, ...rest }, tokens: "delta" in rest ? 1 : 0 }
    }
    yield { event: { type: "response.output_item.done", output_index, item }, tokens: 0 }
  }
  const type = ended.status === "incomplete" ? "response.incomplete" : "response.completed"
  yield { event: { type, response: ended }, tokens: 0, isFinal: true }
}

/** The members of an item before its first delta. */
function emptyItemMembers({ type }: JsonObject): JsonObject {
  if (type === "message") return { status: "in_progress", content: [] }
  return type === "function_call" ? { status: "in_progress", arguments: "" } : { summary: [] }
}

function itemEvents(item: JsonObject, tokens: readonly string[]): Generator<JsonObject> {
  if (item.type === "message") return messageEvents(item, tokens)
  return item.type === "function_call" ? callEvents(item, tokens) : summaryEvents(item, tokens)
}

function* messageEvents(item: JsonObject, tokens: readonly string[]): Generator<JsonObject> {
  for (const [content_index, part] of objects(item.content).entries()) {
    yield { type: "response.content_part.added", content_index, part: { ...part, text: "" } }
    for (const delta of tokens) yield { type: "response.output_text.delta", content_index, delta, logprobs: [] }
    yield { type: "response.output_text.done", content_index, text: part.text ?? "", logprobs: [] }
    yield { type: "response.content_part.done", content_index, part }
  }
}

function* callEvents(item: JsonObject, tokens: readonly string[]): Generator<JsonObject> {
  for (const delta of tokens) yield { type: "response.function_call_arguments.delta", delta }
  const { name = "", arguments: argumentsText = "" } = item
  yield { type: "response.function_call_arguments.done", name, arguments: argumentsText }
}

function* summaryEvents(item: JsonObject, tokens: readonly string[]): Generator<JsonObject> {
  for (const [summary_index, part] of objects(item.summary).entries()) {
    yield { type: "response.reasoning_summary_part.added", summary_index, part: { ...part, text: "" } }
    for (const delta of tokens) yield { type: "response.reasoning_summary_text.delta", summary_index, delta }
    yield { type: "response.reasoning_summary_text.done", summary_index, text: part.text ?? "" }
    yield { type: "response.reasoning_summary_part.done", summary_index, part }
  }
}
