// The grammar of a responses stream, as a strict client reads it: the allowed order of events, and equality of the last
// event with the events before it.
import { isDeepStrictEqual } from "node:util"
import { isObject, type JsonObject } from "../../../../canonical/json.ts"
import { decodeByteText } from "../../../../transport/json/byte-text.ts"

/** Throws if the frames are not a complete stream for a strict client. */
export function checkGrammar(frames: readonly string[]): void {
  const reader = new GrammarReader()
  for (const frame of frames) reader.read(frame)
  reader.end()
}

interface GrammarItem {
  readonly added: JsonObject
  /** Texts by the place they grow at. */
  readonly texts: Map<string, { text: string; done: boolean; closed: boolean; annotations: number }>
}

/** The events of a text: opening, delta and end, and the member of the text. */
const TEXTS: Readonly<Record<string, { index: string; opened: string | undefined; member: string }>> = {
  "response.output_text": { index: "content_index", opened: "response.content_part", member: "text" },
  "response.refusal": { index: "content_index", opened: "response.content_part", member: "refusal" },
  "response.reasoning_text": { index: "content_index", opened: "response.content_part", member: "text" },
  "response.reasoning_summary_text": {
    index: "summary_index",
    opened: "response.reasoning_summary_part",
    member: "text",
  },
  "response.function_call_arguments": { index: "", opened: undefined, member: "arguments" },
  "response.custom_tool_call_input": { index: "", opened: undefined, member: "input" },
}
const PARTS: readonly string[] = ["response.content_part", "response.reasoning_summary_part"]
const STEPS = /^response\.web_search_call\.(in_progress|searching|completed)$/

class GrammarReader {
  private count = 0
  private id: unknown
  private ended: JsonObject | undefined
  private open: GrammarItem | undefined
  private readonly items: JsonObject[] = []

  read(frame: string): void {
    const [, name, data] = /^event: ([\w.]+)\ndata: (\{.*\})\n\n$/.exec(decodeByteText(frame)) ?? []
    if (data === undefined) this.fault(`no frame: ${frame}`)
    const event = JSON.parse(data) as JsonObject
    const type = String(event.type)
    if (type !== name) this.fault(`${name} is ${type}`)
    if (event.sequence_number !== this.count) this.fault(`${type} has number ${event.sequence_number}`)
    if (this.ended) this.fault(`${type} after the end`)
    if (isObject(event.response)) this.response(type, event.response)
    else this.ofItem(type, event)
    this.count++
  }

  end(): void {
    if (!this.ended) this.fault("no terminal event")
    else if (!isDeepStrictEqual(this.ended.output, this.items)) this.fault("the last event shows other items")
  }

  private fault(what: string): never {
    throw new Error(`event ${this.count}: ${what}`)
  }

  private response(type: string, response: JsonObject): void {
    const expected = ["response.created", "response.in_progress"][this.count]
    const isLast = type === "response.completed" || type === "response.incomplete"
    if (expected ? type !== expected : !isLast) this.fault(`${type} out of turn`)
    this.id ??= response.id
    if (response.id !== this.id) this.fault("the id changes")
    if (!isLast) return
    if (this.open) this.fault("an item is still open")
    if (`response.${response.status}` !== type) this.fault(`${type} says ${response.status}`)
    this.ended = response
  }

  private ofItem(type: string, event: JsonObject): void {
    if (this.count < 2) this.fault(`${type} before the response was opened`)
    if (type === "response.output_item.added") {
      this.added(event)
      return
    }
    if (!this.open) this.fault(`${type} without an item`)
    if (event.output_index !== this.items.length) this.fault(`${type} is at ${event.output_index}`)
    if (type === "response.output_item.done") this.done(event, this.open)
    else if (event.item_id !== this.open.added.id) this.fault(`${type} names ${event.item_id}`)
    else if (!STEPS.test(type)) this.inside(type, event, this.open)
  }

  private added({ item, output_index }: JsonObject): void {
    if (this.open) this.fault("an item within another")
    if (output_index !== this.items.length) this.fault(`an item at ${output_index}`)
    if (!isObject(item) || typeof item.id !== "string") this.fault("an item without an id")
    if (this.items.some(({ id }) => id === item.id)) this.fault(`a second item ${item.id}`)
    this.open = { added: item, texts: new Map() }
  }

  private done({ item }: JsonObject, { added, texts }: GrammarItem): void {
    this.open = undefined
    if (!isObject(item)) this.fault("no item")
    if (item.id !== added.id || item.type !== added.type) this.fault("the item changes")
    for (const [place, { done, closed }] of texts) if (!done || !closed) this.fault(`${place} is never done`)
    const texted = JSON.stringify(item)
    for (const { text } of texts.values()) {
      if (!texted.includes(JSON.stringify(text))) this.fault(`the item lacks ${JSON.stringify(text)}`)
    }
    this.items.push(item)
  }

  private inside(type: string, event: JsonObject, { texts }: GrammarItem): void {
    const [, what = "", step = ""] = /^(.*)\.(added|delta|done)$/.exec(type) ?? []
    if (PARTS.includes(what)) this.part(step, event, texts)
    else if (type === "response.output_text.annotation.added") {
      const found = texts.get(placeOf(event))
      const isNext = found && !found.done && event.annotation_index === found.annotations++
      if (!isNext) this.fault("an annotation out of turn")
    } else this.text({ type, what, step }, event, texts)
  }

  private text(
    { type, what, step }: { type: string; what: string; step: string },
    event: JsonObject,
    texts: GrammarItem["texts"],
  ): void {
    const kind = TEXTS[what]
    if (!kind) this.fault(`what is ${type}?`)
    const place = kind.index === "" ? "" : placeOf(event)
    if (kind.opened === undefined && !texts.has(place))
      texts.set(place, { text: "", done: false, closed: true, annotations: 0 })
    const found = texts.get(place)
    if (!found || found.done) this.fault(`${type} out of turn`)
    if (step === "delta") found.text += event.delta
    else {
      found.done = true
      if (event[kind.member] !== found.text) this.fault(`${type} says otherwise`)
    }
  }

  private part(step: string, event: JsonObject, texts: GrammarItem["texts"]): void {
    const place = placeOf(event)
    const known = texts.get(place)
    if (step === "added") {
      if (known || Number(event.content_index ?? event.summary_index) !== texts.size) this.fault("a part out of turn")
      texts.set(place, { text: "", done: false, closed: false, annotations: 0 })
      return
    }
    if (!known?.done || known.closed) this.fault("the end of a part out of turn")
    known.closed = true
    const { text, refusal } = isObject(event.part) ? event.part : {}
    if ((text ?? refusal) !== known.text) this.fault("the end of a part says otherwise")
  }
}

function placeOf({ content_index, summary_index }: JsonObject): string {
  return content_index === undefined ? `summary ${summary_index}` : `content ${content_index}`
}
