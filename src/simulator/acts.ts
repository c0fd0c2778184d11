// An answer as a row of acts: head, writes, waits, and how it ends. Whoever plays them decides what they are made of.
import type { JsonObject } from "../canonical/json.ts"
import type { SimulatedEvent, SimulatedReply, StreamedReply, WholeReply } from "./call.ts"
import type { Pace } from "./pace.ts"
import { hintHeaders, retryInfoSeconds } from "./retry-hints.ts"
import { wholeText, withFaultyUsage } from "./usage-fault.ts"
import type { Failure, Voice } from "./voice.ts"
import type { Fault, Wishes } from "./words.ts"

export type Act = Head | Write | Wait | Ending

export interface Head {
  readonly kind: "head"
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** How many bytes are announced; absent for a stream. */
  readonly length?: number
}

export interface Write {
  readonly kind: "write"
  readonly data: string | Uint8Array
  /** How much of the output this says. */
  readonly tokens: number
  /** Must not be joined with what comes before or after. */
  readonly apart?: true
}

interface Wait {
  readonly kind: "wait"
  readonly ms: number
}

export interface Ending {
  /** A clean end, a closed connection, one that is reset, or silence. */
  readonly kind: "end" | "cut" | "reset" | "stall"
  readonly isFault: boolean
}

export interface Stage {
  readonly wishes: Wishes
  readonly voice: Voice
  readonly pace: Pace
  readonly requestId: string
}

const DEFAULT_ERROR_STATUS = 500
const GARBAGE = new Uint8Array([
  0x00, 0xff, 0xfe, 0x80, 0x0a, 0x7b, 0x3a, 0xc3, 0x28, 0x0a, 0x0a, 0xf0, 0x9f, 0x0a, 0x0a,
])
const PAGE = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body>Bad Gateway</body></html>\n"

/** Acts of the answer, and of what was asked to happen to it. */
export function* acts(reply: SimulatedReply | Failure, stage: Stage): Generator<Act> {
  const { faults, html } = stage.wishes
  const early = faults.find(({ at }) => at === "before-headers")
  if (early) yield ending(early)
  else if (html) yield* answered({ text: PAGE, tokens: 0, contentType: "text/html", isFault: true }, stage)
  else if ("status" in reply) yield* failed(reply, stage)
  else if ("whole" in reply) yield* wholeActs(reply, stage)
  else yield* streamActs(reply, stage)
}

/** A body that is sent in one piece. */
interface Body {
  readonly text: string
  readonly tokens: number
  readonly status?: number
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly isFault?: boolean
}

function failed(failure: Failure, stage: Stage): Generator<Act> {
  const text = JSON.stringify(stage.voice.errorBody(failure))
  const headers = hintHeaders(stage.wishes.hints, Date.now())
  return broken({ text, tokens: 0, status: failure.status, headers }, stage)
}

function* wholeActs({ whole, charge }: WholeReply, stage: Stage): Generator<Act> {
  const { wishes, voice, pace } = stage
  const tokens = charge?.outputTokens ?? 0
  const ms = charge ? pace.wholeMs(tokens) : 0
  if (ms > 0) yield { kind: "wait", ms }
  yield* broken({ text: wholeText(whole, { fault: wishes.usage, voice }), tokens }, stage)
}

/** A body has no events: what happens after some of them happens after half of its bytes. */
function* broken(body: Body, stage: Stage): Generator<Act> {
  const [fault] = stage.wishes.faults
  if (!fault) return yield* answered(body, stage)
  if (fault.does === "error") {
    const text = JSON.stringify(stage.voice.errorBody(failureOf(stage)))
    return yield* answered({ text, tokens: 0, isFault: true }, stage)
  }
  const bytes = Buffer.from(body.text)
  const sent = fault.does === "garbage" ? GARBAGE : bytes.subarray(0, fault.at === 0 ? 0 : bytes.length >> 1)
  yield head(body, { stage, length: isConnectionFault(fault) ? bytes.length : sent.length })
  // The answer was made whole before it broke, and costs as much.
  yield* writes(sent, { tokens: fault.does === "garbage" ? 0 : body.tokens, stage })
  yield ending(fault)
}

function* answered(body: Body, stage: Stage): Generator<Act> {
  yield head(body, { stage, length: Buffer.byteLength(body.text) })
  yield* writes(body.text, { tokens: body.tokens, stage })
  yield { kind: "end", isFault: body.isFault ?? false }
}

function head(
  { status = 200, contentType, headers }: Partial<Body>,
  { stage, length }: { stage: Stage; length?: number },
): Head {
  const { contentType: usual, requestIdHeader } = stage.voice
  const own = { "content-type": contentType ?? usual, [requestIdHeader]: stage.requestId }
  return { kind: "head", status, headers: { ...own, ...headers }, ...(length !== undefined && { length }) }
}

function* streamActs(reply: StreamedReply, stage: Stage): Generator<Act> {
  const { pace } = stage
  const faultAt = new Map(stage.wishes.faults.map((fault) => [fault.at, fault]))
  yield head({ contentType: reply.framing.contentType }, { stage })
  let count = 0
  for (const { text, tokens, afterMs = 0 } of frames(reply, stage)) {
    const fault = faultAt.get(count)
    if (fault && fault.does !== "broken-json") return yield* brokenOff(fault, { stage, count })
    const ms = pace.waitMs(tokens) + afterMs
    if (ms > 0) yield { kind: "wait", ms }
    yield* writes(fault ? halved(text) : text, { tokens, stage })
    count++
  }
  const late = faultAt.get(count)
  yield late && isConnectionFault(late) ? ending(late) : { kind: "end", isFault: false }
}

interface TextFrame {
  readonly text: string
  readonly tokens: number
  /** Of silence before it. */
  readonly afterMs?: number
}

/** The stream's frames, the closing one among them, the usage as asked for. */
function* frames({ events, framing }: StreamedReply, { wishes, voice }: Stage): Generator<TextFrame> {
  const { usage: fault, endingMs = 0 } = wishes
  let count = 0
  let final: JsonObject | undefined
  for (const said of events) {
    if (said.isFinal) final = said.event
    const sent: readonly SimulatedEvent[] = fault ? withFaultyUsage(said, { fault, voice }) : [said]
    const afterMs = said.isFinal || final ? endingMs : 0
    for (const { event, tokens } of sent) yield { text: framing.frame(event, count++), tokens, afterMs }
  }
  const last = framing.last(count)
  if (last !== undefined) yield { text: last, tokens: 0, afterMs: endingMs }
  if (final && fault === "after-end") yield { text: framing.frame(final, count), tokens: 0 }
}

function* brokenOff(fault: Fault, { stage, count }: { stage: Stage; count: number }): Generator<Act> {
  if (fault.does === "garbage") yield* writes(GARBAGE, { tokens: 0, stage })
  if (fault.does === "error") {
    // Google's clients recognise an error inside a stream only where it comes alone.
    yield { kind: "write", data: stage.voice.errorFrame(failureOf(stage), count), tokens: 0, apart: true }
  }
  yield ending(fault)
}

function isConnectionFault({ does }: Fault): boolean {
  return does === "cut" || does === "reset" || does === "stall"
}

/** How it ends for one who was asked to break off. */
function ending({ does }: Fault): Ending {
  return { kind: does === "cut" || does === "reset" || does === "stall" ? does : "end", isFault: true }
}

/** Half of the frame's JSON, its lines kept: the frame is one, what is in it is not. */
function halved(text: string): string {
  return text.replace(/[{[].*/, (json) => json.slice(0, Math.ceil(json.length / 2)))
}

/** The failure asked for; the status decides its kind. */
export function failureOf({ wishes, requestId }: Pick<Stage, "wishes" | "requestId">): Failure {
  const status = statusOf(wishes) ?? DEFAULT_ERROR_STATUS
  const retrySeconds = retryInfoSeconds(wishes.hints)
  return { status, message: `The simulator was asked to fail with status ${status}.`, requestId, retrySeconds }
}

/** A hint when to come back goes with 429, unless another status was asked for. */
export function statusOf({ status, hints }: Wishes): number | undefined {
  return status ?? (hints.length > 0 ? 429 : undefined)
}

function* writes(data: string | Uint8Array, { tokens, stage }: { tokens: number; stage: Stage }): Generator<Write> {
  const { splitBytes } = stage.wishes
  if (splitBytes === undefined) return yield { kind: "write", data, tokens }
  const bytes = Buffer.from(data as string)
  for (let at = 0; at < bytes.length; at += splitBytes) {
    const isLast = at + splitBytes >= bytes.length
    yield { kind: "write", data: bytes.subarray(at, at + splitBytes), tokens: isLast ? tokens : 0, apart: true }
  }
}
