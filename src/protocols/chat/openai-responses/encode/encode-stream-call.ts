// Encodes tool calls and complete parts as items of a stream. A tool has the name that the caller gave it, in the item
// type that the caller's client expects.

import type { ToolDefinition } from "../../../../canonical/chat/chat-request.ts"
import type { ForeignPart, MediaPart, ToolResultPart } from "../../../../canonical/chat/content-part.ts"
import type { PartStart } from "../../../../canonical/chat/stream-event.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { isOwn, PROTOCOL, writingOf } from "../passthrough-fields.ts"
import { encloseCallSeal } from "../seals.ts"
import { shellAction } from "../tools/local-shell.ts"
import { namesOf } from "../tools/tool-namespaces.ts"
import { createDeltaTemplate, type DeltaTemplate, type ItemPosition } from "./encode-stream-output.ts"
import { type PartEncoderContext, StreamPartEncoder } from "./encode-stream-part.ts"

type StreamedCallStart = Extract<PartStart, { kind: "tool-call" }>

export function createCallEncoder(start: StreamedCallStart, encodeContext: PartEncoderContext): StreamPartEncoder {
  const { context } = encodeContext.output
  const tool = context.request.tools.find(({ name }) => name === start.name)
  const id = start.id === "" ? `call_${context.id}${encodeContext.number}` : start.id
  if (start.runsAt === "provider" && start.id.startsWith("mcptoolu_"))
    return new RemoteCallEncoder(start, encodeContext)
  if (start.runsAt === "provider") return new HostedCallEncoder(start, encodeContext)
  if (tool && writingOf(tool.extra).as !== undefined) return new ShellCallEncoder({ ...start, id }, encodeContext)
  return new ClientCallEncoder({ start: { ...start, id }, tool }, encodeContext)
}

/** The two kinds of calls that a client answers: of a function, and of a tool with text input. */
const CALLS = {
  function: { item: "function_call", prefix: "fc", event: "response.function_call_arguments", member: "arguments" },
  custom: { item: "custom_tool_call", prefix: "ctc", event: "response.custom_tool_call_input", member: "input" },
} as const

class ClientCallEncoder extends StreamPartEncoder {
  readonly isVisible = true
  private text = ""
  private place: ItemPosition | undefined
  private around: DeltaTemplate | undefined
  private readonly kind: "function" | "custom"
  private readonly start: StreamedCallStart
  private readonly names: ReturnType<typeof namesOf>

  constructor(
    { start, tool }: { start: StreamedCallStart; tool: ToolDefinition | undefined },
    encodeContext: PartEncoderContext,
  ) {
    super(encodeContext)
    this.start = start
    this.kind = tool?.kind === "custom" || start.input === "text" ? "custom" : "function"
    this.names = namesOf(tool, start.name)
  }

  write(): void {
    const { output } = this.encodeContext
    const { prefix, event } = CALLS[this.kind]
    if (!this.place || !this.around) {
      sealAhead(this.start, this.encodeContext)
      this.place = output.place(prefix)
      this.around = createDeltaTemplate(`${event}.delta`, this.place, "")
      output.begin(this.place, this.item("in_progress"))
    }
    this.appendText(this.pending)
    this.pending = ""
    if (this.ended) this.finish(this.place)
  }

  private appendText(text: string): void {
    if (text === "" || !this.around) return
    this.encodeContext.output.wire.grow(this.around, text)
    this.text += text
  }

  private item(status: string): JsonObject {
    const { item, member } = CALLS[this.kind]
    const { id: call_id } = this.start
    return { id: this.place?.id ?? "", type: item, status, call_id, ...this.names, [member]: this.text }
  }

  private finish(place: ItemPosition): void {
    const { output } = this.encodeContext
    const { event, member } = CALLS[this.kind]
    // Clients parse the arguments of a function, and there is always an object to parse.
    if (this.kind === "function" && this.text === "") this.appendText("{}")
    const named = this.kind === "function" ? { name: this.names.name } : {}
    output.wire.emit(`${event}.done`, { item_id: place.id, output_index: place.index, ...named, [member]: this.text })
    output.end(place, this.item(this.status))
  }
}

/** The seal of a call has its own item before the call; a seal that comes later has no item. */
function sealAhead({ id, sealed }: StreamedCallStart, { output }: PartEncoderContext): void {
  if (!sealed) return
  const place = output.place("rs")
  output.begin(place, { id: place.id, type: "reasoning", summary: [] })
  const encrypted_content = encloseCallSeal(id, sealed)
  output.end(place, { id: place.id, type: "reasoning", summary: [], encrypted_content })
}

/** A command for the caller's own shell: written when complete, because it is not text that could grow. */
class ShellCallEncoder extends StreamPartEncoder {
  readonly isVisible = true
  private text = ""

  constructor(
    private readonly start: StreamedCallStart,
    encodeContext: PartEncoderContext,
  ) {
    super(encodeContext)
  }

  write(): void {
    this.text += this.pending
    this.pending = ""
    if (!this.ended) return
    const { output } = this.encodeContext
    const action = shellAction(this.text)
    const { id: call_id, name } = this.start
    sealAhead(this.start, this.encodeContext)
    const place = output.place(action ? "lsh" : "fc")
    const { id } = place
    // Arguments that are not a command are sent unchanged, so that the model learns of it.
    const item: JsonObject = action
      ? { id, type: "local_shell_call", status: this.status, call_id, action }
      : { id, type: "function_call", status: this.status, call_id, name, arguments: this.text }
    output.begin(place, { ...item, status: "in_progress" })
    output.end(place, item)
  }
}

/**
 * A call that a provider ran. Items of this protocol are written with their results; of others only searches can be
 * expressed.
 */
class HostedCallEncoder extends StreamPartEncoder {
  readonly isVisible: boolean
  private text = ""

  constructor(start: StreamedCallStart, encodeContext: PartEncoderContext) {
    super(encodeContext)
    this.isVisible = start.name === "web_search"
    const isOurs = start.name.endsWith("_call") || start.id.startsWith("mcp_") || start.input === "text"
    if (!this.isVisible && !isOurs) this.lose("a call of a tool that another provider ran")
  }

  write(): void {
    this.text += this.pending
    this.pending = ""
    if (!this.ended) return
    const { output } = this.encodeContext
    const place = output.place("ws")
    const item = { id: place.id, type: "web_search_call", action: { type: "search", query: queryIn(this.text) } }
    const at = { item_id: place.id, output_index: place.index }
    output.begin(place, { ...item, status: "in_progress" })
    output.wire.emit("response.web_search_call.in_progress", at)
    output.wire.emit("response.web_search_call.searching", at)
    output.wire.emit("response.web_search_call.completed", at)
    output.end(place, { ...item, status: "completed" })
  }
}

/** A call of a remote server's tool, which is one item together with its result. */
class RemoteCallEncoder extends StreamPartEncoder {
  readonly isVisible = true
  private text = ""

  constructor(
    private readonly start: StreamedCallStart,
    encodeContext: PartEncoderContext,
  ) {
    super(encodeContext)
  }

  write(): void {
    this.text += this.pending
    this.pending = ""
    const { id, name, server = "" } = this.start
    if (this.ended)
      this.encodeContext.output.remoteCalls.set(id, { server_label: server, name, arguments: this.text || "{}" })
  }
}

/** The result of a remote server's tool: one item for the call and its result. */
class RemoteResultEncoder extends StreamPartEncoder {
  readonly isVisible = true
  private written = false

  constructor(
    private readonly result: ToolResultPart,
    encodeContext: PartEncoderContext,
  ) {
    super(encodeContext)
  }

  override grow(): void {}

  write(): void {
    if (this.written) return
    this.written = true
    const { output } = this.encodeContext
    const { callId, isError, parts } = this.result
    const call = output.remoteCalls.get(callId) ?? { server_label: "", name: "", arguments: "{}" }
    const place = output.place("mcp")
    const joined = parts.map((part) => (part.kind === "text" ? part.text : "")).join("")
    const at = { item_id: place.id, output_index: place.index }
    const item = { id: place.id, type: "mcp_call", approval_request_id: null, ...call }
    output.begin(place, { ...item, status: "in_progress", arguments: "", output: null, error: null })
    output.wire.emit("response.mcp_call.in_progress", at)
    output.wire.emit("response.mcp_call_arguments.done", { ...at, arguments: call.arguments ?? "{}" })
    output.wire.emit(isError ? "response.mcp_call.failed" : "response.mcp_call.completed", at)
    const outcome = isError
      ? { status: "failed", output: null, error: joined }
      : { status: "completed", output: joined, error: null }
    output.end(place, { ...item, ...outcome })
  }
}

function queryIn(args: string): string {
  try {
    const { query } = JSON.parse(args)
    return typeof query === "string" ? query : args
  } catch {
    return args
  }
}

export function createWholePartEncoder(
  part: MediaPart | ForeignPart | ToolResultPart,
  encodeContext: PartEncoderContext,
): StreamPartEncoder {
  const isOthers = part.kind === "tool-result" && part.isRemote && !itemOf(part)
  return isOthers ? new RemoteResultEncoder(part, encodeContext) : new WholePartEncoder(part, encodeContext)
}

/** A part that does not grow. */
class WholePartEncoder extends StreamPartEncoder {
  readonly isVisible: boolean
  private readonly item: JsonObject | undefined
  private written = false

  constructor(part: MediaPart | ForeignPart | ToolResultPart, encodeContext: PartEncoderContext) {
    super(encodeContext)
    this.item = itemOf(part)
    this.isVisible = this.item !== undefined
    if (!this.item) this.lose(describePart(part))
  }

  override grow(): void {}

  write(): void {
    if (this.written || !this.item) return
    this.written = true
    const { output } = this.encodeContext
    const isPicture = this.item.type === "image_generation_call"
    const place = output.place(isPicture ? "ig" : "item")
    const id = typeof this.item.id === "string" ? this.item.id : place.id
    const item = { ...this.item, id }
    output.begin(place, isPicture ? { id, type: "image_generation_call", status: "in_progress" } : item)
    output.end(place, item)
  }
}

/** A part as an item of this protocol; undefined if it cannot be one. */
function itemOf(part: MediaPart | ForeignPart | ToolResultPart): JsonObject | undefined {
  if (part.kind === "tool-result") {
    const [found] = part.parts
    return found?.kind === "foreign" ? itemOf(found) : undefined
  }
  if (part.kind === "foreign") return part.protocol === PROTOCOL ? asNamedItem(part.value) : undefined
  const { media, source, extra } = part
  if (media !== "image" || source.at !== "inline") return undefined
  const members = isOwn(extra) ? extra.members : { output_format: source.mediaType.replace(/^image\//, "") }
  return { type: "image_generation_call", status: "completed", ...members, result: source.base64 }
}

/** Only items have ids; content parts have none. */
function asNamedItem(value: Json): JsonObject | undefined {
  return isObject(value) && typeof value.id === "string" && typeof value.type === "string" ? value : undefined
}

function describePart(part: MediaPart | ForeignPart | ToolResultPart): string {
  if (part.kind === "media") return `${part.media} among an answer`
  return part.kind === "foreign"
    ? "content that exists only in another protocol"
    : "the result of a tool that another provider ran"
}
