// An answer as a row of acts: head, writes, waits, and how it ends. Whoever plays them decides what they are made of.
import type { JsonObject } from "../../canonical/json.ts"
import type { SimulatedFault, SimulatorDirectives } from "../directives.ts"
import type { SimulatedFailure, VendorErrorFormat } from "../error-format.ts"
import type { SimulatedEvent, SimulatedReply, StreamedReply, WholeReply } from "../simulated-call.ts"
import { hintHeaders, retryInfoSeconds } from "./retry-hints.ts"
import type { TokenPace } from "./token-pace.ts"
import { wholeText, withFaultyUsage } from "./usage-fault.ts"

export type ResponseStep = HeadStep | WriteStep | WaitStep | EndStep

export interface HeadStep {
  readonly kind: "head"
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** How many bytes are announced; absent for a stream. */
  readonly length?: number
}

export interface WriteStep {
  readonly kind: "write"
  readonly data: string | Uint8Array
  /** How much of the output this says. */
  readonly tokens: number
  /** Must not be joined with what comes before or after. */
  readonly apart?: true
}

interface WaitStep {
  readonly kind: "wait"
  readonly ms: number
}

export interface EndStep {
  /** A clean end, a closed connection, one that is reset, or silence. */
  readonly kind: "end" | "cut" | "reset" | "stall"
  readonly isFault: boolean
}

export interface ResponseScene {
  readonly wishes: SimulatorDirectives
  readonly errorFormat: VendorErrorFormat
  readonly pace: TokenPace
  readonly requestId: string
}

const DEFAULT_ERROR_STATUS = 500
const GARBAGE = new Uint8Array([
  0x00, 0xff, 0xfe, 0x80, 0x0a, 0x7b, 0x3a, 0xc3, 0x28, 0x0a, 0x0a, 0xf0, 0x9f, 0x0a, 0x0a,
])
const PAGE = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body>Bad Gateway</body></html>\n"

/** Acts of the answer, and of what was asked to happen to it. */
export function* responseSteps(
  reply: SimulatedReply | SimulatedFailure,
  stage: ResponseScene,
): Generator<ResponseStep> {
  const { faults, html } = stage.wishes
  const early = faults.find(({ at }) => at === "before-headers")
  if (early) yield endStep(early)
  else if (html) yield* bodySteps({ text: PAGE, tokens: 0, contentType: "text/html", isFault: true }, stage)
  else if ("status" in reply) yield* failureSteps(reply, stage)
  else if ("whole" in reply) yield* wholeSteps(reply, stage)
  else yield* streamSteps(reply, stage)
}

/** A body that is sent in one piece. */
interface WholeBody {
  readonly text: string
  readonly tokens: number
  readonly status?: number
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly isFault?: boolean
}

function failureSteps(failure: SimulatedFailure, stage: ResponseScene): Generator<ResponseStep> {
  const text = JSON.stringify(stage.errorFormat.errorBody(failure))
  const headers = hintHeaders(stage.wishes.hints, Date.now())
  return brokenBodySteps({ text, tokens: 0, status: failure.status, headers }, stage)
}

function* wholeSteps({ whole, charge }: WholeReply, stage: ResponseScene): Generator<ResponseStep> {
  const { wishes, errorFormat, pace } = stage
  const tokens = charge?.outputTokens ?? 0
  const ms = charge ? pace.wholeMs(tokens) : 0
  if (ms > 0) yield { kind: "wait", ms }
  yield* brokenBodySteps({ text: wholeText(whole, { fault: wishes.usage, voice: errorFormat }), tokens }, stage)
}

/** A body has no events: what happens after some of them happens after half of its bytes. */
function* brokenBodySteps(body: WholeBody, stage: ResponseScene): Generator<ResponseStep> {
  const [fault] = stage.wishes.faults
  if (!fault) return yield* bodySteps(body, stage)
  if (fault.effect === "error") {
    const text = JSON.stringify(stage.errorFormat.errorBody(failureOf(stage)))
    return yield* bodySteps({ text, tokens: 0, isFault: true }, stage)
  }
  const bytes = Buffer.from(body.text)
  const sent = fault.effect === "garbage" ? GARBAGE : bytes.subarray(0, fault.at === 0 ? 0 : bytes.length >> 1)
  yield headStep(body, { stage, length: isConnectionFault(fault) ? bytes.length : sent.length })
  // The answer was made whole before it broke, and costs as much.
  yield* writeSteps(sent, { tokens: fault.effect === "garbage" ? 0 : body.tokens, stage })
  yield endStep(fault)
}

function* bodySteps(body: WholeBody, stage: ResponseScene): Generator<ResponseStep> {
  yield headStep(body, { stage, length: Buffer.byteLength(body.text) })
  yield* writeSteps(body.text, { tokens: body.tokens, stage })
  yield { kind: "end", isFault: body.isFault ?? false }
}

function headStep(
  { status = 200, contentType, headers }: Partial<WholeBody>,
  { stage, length }: { stage: ResponseScene; length?: number },
): HeadStep {
  const { contentType: usual, requestIdHeader } = stage.errorFormat
  const own = { "content-type": contentType ?? usual, [requestIdHeader]: stage.requestId }
  return { kind: "head", status, headers: { ...own, ...headers }, ...(length !== undefined && { length }) }
}

function* streamSteps(reply: StreamedReply, stage: ResponseScene): Generator<ResponseStep> {
  const { pace } = stage
  const faultAt = new Map(stage.wishes.faults.map((fault) => [fault.at, fault]))
  yield headStep({ contentType: reply.framing.contentType }, { stage })
  let count = 0
  for (const { text, tokens, afterMs = 0 } of frames(reply, stage)) {
    const fault = faultAt.get(count)
    if (fault && fault.effect !== "broken-json") return yield* breakOffSteps(fault, { stage, count })
    const ms = pace.waitMs(tokens) + afterMs
    if (ms > 0) yield { kind: "wait", ms }
    yield* writeSteps(fault ? halveJson(text) : text, { tokens, stage })
    count++
  }
  const late = faultAt.get(count)
  yield late && isConnectionFault(late) ? endStep(late) : { kind: "end", isFault: false }
}

interface TextFrame {
  readonly text: string
  readonly tokens: number
  /** Of silence before it. */
  readonly afterMs?: number
}

/** The stream's frames, the closing one among them, the usage as asked for. */
function* frames({ events, framing }: StreamedReply, { wishes, errorFormat }: ResponseScene): Generator<TextFrame> {
  const { usage: fault, endingMs = 0 } = wishes
  let count = 0
  let final: JsonObject | undefined
  for (const simulatedEvent of events) {
    if (simulatedEvent.isFinal) final = simulatedEvent.event
    const sent: readonly SimulatedEvent[] = fault
      ? withFaultyUsage(simulatedEvent, { fault, voice: errorFormat })
      : [simulatedEvent]
    const afterMs = simulatedEvent.isFinal || final ? endingMs : 0
    for (const { event, tokens } of sent) yield { text: framing.frame(event, count++), tokens, afterMs }
  }
  const last = framing.last(count)
  if (last !== undefined) yield { text: last, tokens: 0, afterMs: endingMs }
  if (final && fault === "after-end") yield { text: framing.frame(final, count), tokens: 0 }
}

function* breakOffSteps(
  fault: SimulatedFault,
  { stage, count }: { stage: ResponseScene; count: number },
): Generator<ResponseStep> {
  if (fault.effect === "garbage") yield* writeSteps(GARBAGE, { tokens: 0, stage })
  if (fault.effect === "error") {
    // Google's clients recognise an error inside a stream only where it comes alone.
    yield { kind: "write", data: stage.errorFormat.errorFrame(failureOf(stage), count), tokens: 0, apart: true }
  }
  yield endStep(fault)
}

function isConnectionFault({ effect }: SimulatedFault): boolean {
  return effect === "cut" || effect === "reset" || effect === "stall"
}

/** How it ends for one who was asked to break off. */
function endStep({ effect }: SimulatedFault): EndStep {
  return { kind: effect === "cut" || effect === "reset" || effect === "stall" ? effect : "end", isFault: true }
}

/** Half of the frame's JSON, its lines kept: the frame is one, what is in it is not. */
function halveJson(text: string): string {
  return text.replace(/[{[].*/, (json) => json.slice(0, Math.ceil(json.length / 2)))
}

/** The failure asked for; the status decides its kind. */
export function failureOf({ wishes, requestId }: Pick<ResponseScene, "wishes" | "requestId">): SimulatedFailure {
  const status = statusOf(wishes) ?? DEFAULT_ERROR_STATUS
  const retrySeconds = retryInfoSeconds(wishes.hints)
  return { status, message: `The simulator was asked to fail with status ${status}.`, requestId, retrySeconds }
}

/** A hint when to come back goes with 429, unless another status was asked for. */
export function statusOf({ status, hints }: SimulatorDirectives): number | undefined {
  return status ?? (hints.length > 0 ? 429 : undefined)
}

function* writeSteps(
  data: string | Uint8Array,
  { tokens, stage }: { tokens: number; stage: ResponseScene },
): Generator<WriteStep> {
  const { splitBytes } = stage.wishes
  if (splitBytes === undefined) return yield { kind: "write", data, tokens }
  const bytes = Buffer.from(data as string)
  for (let at = 0; at < bytes.length; at += splitBytes) {
    const isLast = at + splitBytes >= bytes.length
    yield { kind: "write", data: bytes.subarray(at, at + splitBytes), tokens: isLast ? tokens : 0, apart: true }
  }
}
