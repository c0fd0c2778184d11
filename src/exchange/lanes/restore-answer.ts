// Undoes the request's translation in the response: restores tool names and the text input of custom tools, fits call
// ids to the client's protocol, and stores seals that the client would drop.

import type { ChatResponse } from "../../canonical/chat/chat-response.ts"
import type { ContentPart, ReasoningPart, TextPart, ToolCallPart } from "../../canonical/chat/content-part.ts"
import type { SealedContent } from "../../canonical/chat/sealed-content.ts"
import type { StreamEvent } from "../../canonical/chat/stream-event.ts"
import { AnswerSeals, type TrailingSeals } from "../conversations/answer-seals.ts"
import type { SealBundle } from "../conversations/seal-cache.ts"
import { CustomToolInput, inputOf } from "./custom-tool-input.ts"
import { fitCallId } from "./fit-names.ts"

export interface AnswerRestoration {
  /** The caller's names of tools, by what they were sent as. */
  readonly names: ReadonlyMap<string, string>
  /** The tools, as they were sent, whose input is plain text. */
  readonly customs: ReadonlySet<string>
  /** Called with the seals of a call; returns the seal the call carries. Absent if the client keeps seals. */
  readonly keep?: ((callId: string, kept: SealBundle) => SealedContent | undefined) | undefined
  /** Called with the seals behind all content; absent if they are not kept. */
  readonly keepTrailing?: ((seals: TrailingSeals) => void) | undefined
  /** What ids of calls the client takes. */
  readonly callId?: RegExp | undefined
}

export function restoreResponse(response: ChatResponse, mending: AnswerRestoration): ChatResponse {
  if (changesNothing(mending)) return response
  return {
    ...response,
    candidates: response.candidates.map((candidate) => {
      const keeper = mending.keep && new SealKeeper(mending.keep)
      const behind = new AnswerSeals(mending.keepTrailing)
      const parts = candidate.parts.map((part) => {
        behind.take(part)
        const mended = restorePart(part, mending)
        return keeper ? keeper.take(mended) : mended
      })
      behind.finish(candidate.finish)
      return { ...candidate, parts }
    }),
  }
}

export function changesNothing({ names, customs, keep, keepTrailing, callId }: AnswerRestoration): boolean {
  return names.size === 0 && customs.size === 0 && !keep && !keepTrailing && !callId
}

/** An id that is missing is made by who writes the answer. */
function fitIdToClient(id: string, { callId }: AnswerRestoration): string {
  return callId && id !== "" ? fitCallId(id, callId) : id
}

function restorePart(part: ContentPart, mending: AnswerRestoration): ContentPart {
  if (part.kind !== "tool-call") return part
  const { names, customs } = mending
  const id = part.runsAt === "client" ? fitIdToClient(part.id, mending) : part.id
  const name = names.get(part.name) ?? part.name
  const input = customs.has(part.name) && part.input !== "text" ? inputOf(part.arguments) : undefined
  return { ...part, id, name, ...(input !== undefined && { arguments: input, input: "text" as const }) }
}

/** Thoughts belong to the call that follows them. */
class SealKeeper {
  private before: ReasoningPart[] = []

  constructor(private readonly keep: NonNullable<AnswerRestoration["keep"]>) {}

  /** The part as the client gets it. */
  take(part: ContentPart): ContentPart {
    if (part.kind === "reasoning" && part.sealed) this.before.push(part)
    if (part.kind !== "tool-call" || part.runsAt !== "client") return part
    const { before } = this
    const { sealed, ...call } = part
    this.before = []
    if (!sealed && before.length === 0) return part
    const borne = this.keep(part.id, { before, ...(sealed && { sealed }) })
    return borne ? { ...call, sealed: borne } : call
  }
}

/** A part of a stream that something is done about. */
interface RestoredPart {
  readonly part: ToolCallPart | ReasoningPart | TextPart
  text: string
  readonly input?: CustomToolInput
}

/** The same for a stream, event by event. */
export class StreamRestorer {
  private readonly open = new Map<string, RestoredPart>()
  private readonly keepers = new Map<number, SealKeeper>()
  private readonly behind = new Map<number, AnswerSeals>()

  constructor(private readonly mending: AnswerRestoration) {}

  push(event: StreamEvent): readonly StreamEvent[] {
    if (event.type === "part-start") return [this.start(event)]
    if (event.type === "candidate-end") this.behind.get(event.candidate)?.finish(event.finish)
    if (this.open.size === 0 || (event.type !== "part-delta" && event.type !== "part-end")) return [event]
    const key = `${event.candidate}.${event.part}`
    const open = this.open.get(key)
    if (!open) return [event]
    if (event.type === "part-delta") return this.grow(event, open)
    this.open.delete(key)
    return this.end(event, open)
  }

  private start(event: Extract<StreamEvent, { type: "part-start" }>): StreamEvent {
    const { candidate, part, start } = event
    const { names, customs, keep, keepTrailing } = this.mending
    const key = `${candidate}.${part}`
    if (keepTrailing && start.kind === "text") this.open.set(key, { part: { ...start, text: "" }, text: "" })
    if ((keep || keepTrailing) && start.kind === "reasoning") {
      this.open.set(key, { part: { ...start, text: "" }, text: "" })
    }
    if (start.kind !== "tool-call") return event
    const id = start.runsAt === "client" ? fitIdToClient(start.id, this.mending) : start.id
    const isText = customs.has(start.name) && start.input !== "text"
    if (isText || keep || keepTrailing) {
      const call: ToolCallPart = { ...start, id, arguments: "" }
      this.open.set(key, { part: call, text: "", ...(isText && { input: new CustomToolInput() }) })
    }
    const name = names.get(start.name) ?? start.name
    return { ...event, start: { ...start, id, name, ...(isText && { input: "text" as const }) } }
  }

  private grow(event: Extract<StreamEvent, { type: "part-delta" }>, open: RestoredPart): StreamEvent[] {
    if (open.part.kind !== "tool-call") open.text += event.text
    if (!open.input) return [event]
    const text = open.input.push(event.text)
    return text === "" ? [] : [{ ...event, text }]
  }

  private end(event: Extract<StreamEvent, { type: "part-end" }>, open: RestoredPart): StreamEvent[] {
    const { candidate, part } = event
    const { sealed: _, ...bare } = event
    const sealed = this.keepSeal(event, open)
    const end: StreamEvent = { ...bare, ...(sealed && { sealed }) }
    const rest = open.input?.finish() ?? ""
    return rest === "" ? [end] : [{ type: "part-delta", candidate, part, text: rest }, end]
  }

  /** The seal that the part bears to the client. */
  private keepSeal(
    { candidate, sealed }: Extract<StreamEvent, { type: "part-end" }>,
    open: RestoredPart,
  ): SealedContent | undefined {
    const { keep, keepTrailing } = this.mending
    const part = open.part.kind === "tool-call" ? open.part : { ...open.part, text: open.text }
    const whole: ContentPart = part.kind === "text" ? part : { ...part, ...(sealed && { sealed }) }
    const behind = this.behind.get(candidate) ?? new AnswerSeals(keepTrailing)
    this.behind.set(candidate, behind)
    behind.take(whole)
    if (!keep) return sealed
    const keeper = this.keepers.get(candidate) ?? new SealKeeper(keep)
    this.keepers.set(candidate, keeper)
    const taken = keeper.take(whole)
    return "sealed" in taken ? taken.sealed : undefined
  }
}
