// One candidate of a stream as its parts come in: says by which events they begin, grow and end.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { Sealed } from "../../canonical/sealed.ts"
import type { PartStart, StreamEvent } from "../../canonical/stream.ts"
import { decodeFinish } from "./response.ts"

type Kind = "text" | "reasoning"

/** Thoughts come summed up, never in full. */
const STARTS: Readonly<Record<Kind, PartStart>> = {
  text: { kind: "text" },
  reasoning: { kind: "reasoning", form: "summary" },
}

export class GrowingCandidate {
  ended = false
  private parts = 0
  private calledTools = false
  /** The part that grows by text. */
  private open: { readonly part: number; readonly kind: Kind } | undefined

  constructor(private readonly index: number) {}

  grow({ content, finishReason }: JsonObject, events: StreamEvent[]): void {
    if (isObject(content) && Array.isArray(content.parts)) {
      for (const part of content.parts) if (isObject(part)) this.take(part, events)
    }
    if (typeof finishReason !== "string" || finishReason === "FINISH_REASON_UNSPECIFIED" || this.ended) return
    this.endOpen(events)
    this.ended = true
    const finish = decodeFinish(finishReason, { calledTools: this.calledTools })
    events.push({ type: "candidate-end", candidate: this.index, finish })
  }

  /** The prompt was refused, so that there will be no answer. */
  block(reason: string, events: StreamEvent[]): void {
    if (this.ended) return
    this.endOpen(events)
    this.ended = true
    events.push({ type: "candidate-end", candidate: this.index, finish: { reason: "filtered", word: reason } })
  }

  private take(part: JsonObject, events: StreamEvent[]): void {
    const { text, functionCall, thought, thoughtSignature, ...others } = part
    const sealed = sealedBy(thoughtSignature)
    if (isObject(functionCall) && typeof functionCall.name === "string") this.call(functionCall, sealed, events)
    else if (typeof text === "string" || (Object.keys(others).length === 0 && functionCall === undefined)) {
      const kind = thought === true ? "reasoning" : "text"
      this.text({ kind, text: typeof text === "string" ? text : "", sealed }, events)
    } else {
      this.endOpen(events)
      events.push({ type: "foreign", protocol: "gemini-generate", value: part })
    }
  }

  /** A signature may follow its text in a part of its own that is empty. */
  private text(
    { kind, text, sealed }: { kind: Kind; text: string; sealed: Sealed | undefined },
    events: StreamEvent[],
  ) {
    if (text === "" && !sealed) return
    if (this.open?.kind !== kind) {
      this.endOpen(events)
      this.open = { part: this.start(STARTS[kind], events), kind }
    }
    if (text !== "") events.push({ type: "part-delta", candidate: this.index, part: this.open.part, text })
    if (sealed) this.endOpen(events, sealed)
  }

  /** A call comes whole. */
  private call({ id, name, args }: JsonObject, sealed: Sealed | undefined, events: StreamEvent[]): void {
    this.endOpen(events)
    this.calledTools = true
    const candidate = this.index
    const named = { id: typeof id === "string" ? id : "", name: typeof name === "string" ? name : "" }
    const part = this.start({ kind: "tool-call", ...named, runsAt: "client" }, events)
    events.push({ type: "part-delta", candidate, part, text: JSON.stringify(args ?? {}) })
    events.push({ type: "part-end", candidate, part, ...(sealed && { sealed }) })
  }

  private start(start: PartStart, events: StreamEvent[]): number {
    const part = this.parts++
    events.push({ type: "part-start", candidate: this.index, part, start })
    return part
  }

  private endOpen(events: StreamEvent[], sealed?: Sealed): void {
    const { open } = this
    if (open) events.push({ type: "part-end", candidate: this.index, part: open.part, ...(sealed && { sealed }) })
    this.open = undefined
  }
}

function sealedBy(signature: Json | undefined): Sealed | undefined {
  return typeof signature === "string" && signature !== "" ? { mintedBy: "google", data: signature } : undefined
}
