// The tool calls of one candidate as they come in, in pieces and side by side; of hosts that number them and of those
// that do not.

import type { SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import type { PartStart, StreamEvent } from "../../../../canonical/chat/stream-event.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamResponseContext } from "../../../chat-codec.ts"
import { sealCall } from "../seals.ts"

interface OpenToolCall {
  readonly part: number
  readonly id: string
  sealed?: SealedContent
}

type StartPart = (start: PartStart, events: StreamEvent[]) => number

/** The index of the only call in the older form, which has none. */
const LEGACY = -1

export class ToolCallStreamDecoder {
  /** True if the caller has to run a tool. */
  hasCalls = false
  private count = 0
  private readonly open = new Map<number, OpenToolCall>()
  /** Calls that the host ran itself: their ids, and if their results have been reported. */
  private readonly ran = new Map<number, { readonly id: string; answered: boolean }>()

  constructor(
    private readonly candidate: number,
    private readonly context: UpstreamResponseContext | undefined,
    private readonly start: StartPart,
  ) {}

  grow(calls: readonly Json[], events: StreamEvent[]): void {
    for (let position = 0; position < calls.length; position++) {
      const call = calls[position]
      if (isObject(call)) this.growOne(call, position, events)
    }
  }

  legacy({ name, arguments: args }: JsonObject, events: StreamEvent[]): void {
    // Some hosts send the member empty in every response.
    if (!this.open.has(LEGACY) && (typeof name !== "string" || name === "")) return
    this.growOne({ index: LEGACY, function: { name: name ?? "", arguments: args ?? "" } }, 0, events)
  }

  end(events: StreamEvent[]): void {
    for (const { part, sealed } of this.open.values()) {
      events.push({ type: "part-end", candidate: this.candidate, part, ...(sealed && { sealed }) })
    }
    this.open.clear()
  }

  /** Tools that Groq ran itself, repeated when their output is available. */
  decodeHostedRuns(tools: Json, events: StreamEvent[]): void {
    for (const [position, tool] of (Array.isArray(tools) ? tools : []).entries()) {
      if (!isObject(tool)) continue
      const index = typeof tool.index === "number" ? tool.index : position
      const call = this.ran.get(index) ?? this.startRan(tool, events)
      this.ran.set(index, call)
      if (call.answered || typeof tool.output !== "string") continue
      call.answered = true
      const parts = [{ kind: "text", text: tool.output }] as const
      const result = { kind: "tool-result", callId: call.id, parts, isError: false } as const
      const part = this.start({ kind: "whole", part: result }, events)
      events.push({ type: "part-end", candidate: this.candidate, part })
    }
  }

  private startRan(tool: JsonObject, events: StreamEvent[]): { id: string; answered: boolean } {
    const id = this.mint()
    const name = typeof tool.type === "string" ? tool.type : "tool"
    const part = this.start({ kind: "tool-call", id, name, runsAt: "provider" }, events)
    this.appendText(part, tool.arguments, events)
    events.push({ type: "part-end", candidate: this.candidate, part })
    return { id, answered: false }
  }

  private growOne(call: JsonObject, position: number, events: StreamEvent[]): void {
    const isCustom = call.type === "custom" || (!isObject(call.function) && isObject(call.custom))
    const called = isCustom ? call.custom : call.function
    const { name, arguments: args, input } = isObject(called) ? called : NOTHING
    const id = typeof call.id === "string" ? call.id : ""
    const index = this.indexOf(call, { id, named: typeof name === "string" && name !== "", position })
    const { context } = this
    const { extra_content: extra } = call
    const seal = context && isObject(extra) ? { sealed: sealCall(extra, context.minter) } : undefined
    let open = this.open.get(index)
    if (!open) {
      this.hasCalls = true
      const known = id === "" ? this.mint() : id
      const start = { kind: "tool-call", id: known, name: typeof name === "string" ? name : "", ...seal } as const
      const part = this.start({ ...start, ...(isCustom && { input: "text" as const }), runsAt: "client" }, events)
      open = { part, id }
      this.open.set(index, open)
      this.count++
    }
    if (seal) open.sealed = seal.sealed
    this.appendText(open.part, isCustom ? input : args, events)
  }

  /** Calls without an index are distinguished by id; so are calls to which a host gives the same index. */
  private indexOf(call: JsonObject, { id, named, position }: { id: string; named: boolean; position: number }): number {
    const index = typeof call.index === "number" ? call.index : position
    const open = this.open.get(index)
    if (!open || id === "" || id === open.id) return index
    for (const [known, each] of this.open) if (each.id === id) return known
    // An id that changes within a call does not start a new one.
    return named ? Math.max(...this.open.keys()) + 1 : index
  }

  private appendText(part: number, value: Json | undefined, events: StreamEvent[]): void {
    const text =
      typeof value === "string" || value === undefined || value === null ? (value ?? "") : JSON.stringify(value)
    if (text !== "") events.push({ type: "part-delta", candidate: this.candidate, part, text })
  }

  /** The relay's observer needs no ids. */
  private mint(): string {
    return this.context ? `call_${this.context.id}_${this.candidate}_${this.count + this.ran.size}` : ""
  }
}

const NOTHING: JsonObject = {}
