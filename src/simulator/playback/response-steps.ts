// A response as a sequence of steps: head, writes, waits, and its end. A player turns them into a Response or into
// bytes on a socket.
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
  /** The content length; absent for a stream. */
  readonly length?: number
}

export interface WriteStep {
  readonly kind: "write"
  readonly data: string | Uint8Array
  /** Output tokens that this write carries. */
  readonly tokens: number
  /** Must not be joined with other writes. */
  readonly apart?: true
}

interface WaitStep {
  readonly kind: "wait"
  readonly ms: number
}

export interface EndStep {
  /** A clean end, a closed or reset connection, or silence. */
  readonly kind: "end" | "cut" | "reset" | "stall"
  readonly isFault: boolean
}

export interface ResponseScene {
  readonly directives: SimulatorDirectives
  readonly errorFormat: VendorErrorFormat
  readonly pace: TokenPace
  readonly requestId: string
}

const DEFAULT_ERROR_STATUS = 500
const GARBAGE = new Uint8Array([
  0x00, 0xff, 0xfe, 0x80, 0x0a, 0x7b, 0x3a, 0xc3, 0x28, 0x0a, 0x0a, 0xf0, 0x9f, 0x0a, 0x0a,
])
const PAGE = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body>Bad Gateway</body></html>\n"

/** The steps of a reply, including the requested faults. */
export function* responseSteps(
  reply: SimulatedReply | SimulatedFailure,
  scene: ResponseScene,
): Generator<ResponseStep> {
  const { faults, html } = scene.directives
  const early = faults.find(({ at }) => at === "before-headers")
  if (early) yield endStep(early)
  else if (html) yield* bodySteps({ text: PAGE, tokens: 0, contentType: "text/html", isFault: true }, scene)
  else if ("status" in reply) yield* failureSteps(reply, scene)
  else if ("whole" in reply) yield* wholeSteps(reply, scene)
  else yield* streamSteps(reply, scene)
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

function failureSteps(failure: SimulatedFailure, scene: ResponseScene): Generator<ResponseStep> {
  const text = JSON.stringify(scene.errorFormat.errorBody(failure))
  const headers = hintHeaders(scene.directives.hints, Date.now())
  return brokenBodySteps({ text, tokens: 0, status: failure.status, headers }, scene)
}

function* wholeSteps({ whole, charge }: WholeReply, scene: ResponseScene): Generator<ResponseStep> {
  const { directives, errorFormat, pace } = scene
  const tokens = charge?.outputTokens ?? 0
  const ms = charge ? pace.wholeMs(tokens) : 0
  if (ms > 0) yield { kind: "wait", ms }
  yield* brokenBodySteps({ text: wholeText(whole, { fault: directives.usage, errorFormat }), tokens }, scene)
}

/** A whole body has no events, so a fault after N events happens after half of its bytes. */
function* brokenBodySteps(body: WholeBody, scene: ResponseScene): Generator<ResponseStep> {
  const [fault] = scene.directives.faults
  if (!fault) return yield* bodySteps(body, scene)
  if (fault.effect === "error") {
    const text = JSON.stringify(scene.errorFormat.errorBody(failureOf(scene)))
    return yield* bodySteps({ text, tokens: 0, isFault: true }, scene)
  }
  const bytes = Buffer.from(body.text)
  const sent = fault.effect === "garbage" ? GARBAGE : bytes.subarray(0, fault.at === 0 ? 0 : bytes.length >> 1)
  yield headStep(body, { scene, length: isConnectionFault(fault) ? bytes.length : sent.length })
  // The answer was generated completely before it broke, so it costs as much.
  yield* writeSteps(sent, { tokens: fault.effect === "garbage" ? 0 : body.tokens, scene })
  yield endStep(fault)
}

function* bodySteps(body: WholeBody, scene: ResponseScene): Generator<ResponseStep> {
  yield headStep(body, { scene, length: Buffer.byteLength(body.text) })
  yield* writeSteps(body.text, { tokens: body.tokens, scene })
  yield { kind: "end", isFault: body.isFault ?? false }
}

function headStep(
  { status = 200, contentType, headers }: Partial<WholeBody>,
  { scene, length }: { scene: ResponseScene; length?: number },
): HeadStep {
  const { contentType: usual, requestIdHeader } = scene.errorFormat
  const own = { "content-type": contentType ?? usual, [requestIdHeader]: scene.requestId }
  return { kind: "head", status, headers: { ...own, ...headers }, ...(length !== undefined && { length }) }
}

function* streamSteps(reply: StreamedReply, scene: ResponseScene): Generator<ResponseStep> {
  const { pace } = scene
  const faultAt = new Map(scene.directives.faults.map((fault) => [fault.at, fault]))
  yield headStep({ contentType: reply.framing.contentType }, { scene })
  let count = 0
  for (const { text, tokens, afterMs = 0 } of frames(reply, scene)) {
    const fault = faultAt.get(count)
    if (fault && fault.effect !== "broken-json") return yield* breakOffSteps(fault, { scene, count })
    const ms = pace.waitMs(tokens) + afterMs
    if (ms > 0) yield { kind: "wait", ms }
    yield* writeSteps(fault ? halveJson(text) : text, { tokens, scene })
    count++
  }
  const late = faultAt.get(count)
  yield late && isConnectionFault(late) ? endStep(late) : { kind: "end", isFault: false }
}

interface TextFrame {
  readonly text: string
  readonly tokens: number
  /** Silence before the frame. */
  readonly afterMs?: number
}

/** The stream's frames, including the closing one, with the requested usage fault. */
function* frames({ events, framing }: StreamedReply, { directives, errorFormat }: ResponseScene): Generator<TextFrame> {
  const { usage: fault, endingMs = 0 } = directives
  let count = 0
  let final: JsonObject | undefined
  for (const simulatedEvent of events) {
    if (simulatedEvent.isFinal) final = simulatedEvent.event
    const sent: readonly SimulatedEvent[] = fault
      ? withFaultyUsage(simulatedEvent, { fault, errorFormat })
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
  { scene, count }: { scene: ResponseScene; count: number },
): Generator<ResponseStep> {
  if (fault.effect === "garbage") yield* writeSteps(GARBAGE, { tokens: 0, scene })
  if (fault.effect === "error") {
    // Google's clients recognise an error inside a stream only if it arrives in a chunk of its own.
    yield { kind: "write", data: scene.errorFormat.errorFrame(failureOf(scene), count), tokens: 0, apart: true }
  }
  yield endStep(fault)
}

function isConnectionFault({ effect }: SimulatedFault): boolean {
  return effect === "cut" || effect === "reset" || effect === "stall"
}

function endStep({ effect }: SimulatedFault): EndStep {
  return { kind: effect === "cut" || effect === "reset" || effect === "stall" ? effect : "end", isFault: true }
}

/** Cuts the frame's JSON in half: the frame stays valid, its data does not. */
function halveJson(text: string): string {
  return text.replace(/[{[].*/, (json) => json.slice(0, Math.ceil(json.length / 2)))
}

/** The requested failure; the status decides its kind. */
export function failureOf({
  directives,
  requestId,
}: Pick<ResponseScene, "directives" | "requestId">): SimulatedFailure {
  const status = statusOf(directives) ?? DEFAULT_ERROR_STATUS
  const retrySeconds = retryInfoSeconds(directives.hints)
  return { status, message: `The simulator was asked to fail with status ${status}.`, requestId, retrySeconds }
}

/** A retry hint implies 429 unless another status is requested. */
export function statusOf({ status, hints }: SimulatorDirectives): number | undefined {
  return status ?? (hints.length > 0 ? 429 : undefined)
}

function* writeSteps(
  data: string | Uint8Array,
  { tokens, scene }: { tokens: number; scene: ResponseScene },
): Generator<WriteStep> {
  const { splitBytes } = scene.directives
  if (splitBytes === undefined) return yield { kind: "write", data, tokens }
  const bytes = Buffer.from(data as string)
  for (let at = 0; at < bytes.length; at += splitBytes) {
    const isLast = at + splitBytes >= bytes.length
    yield { kind: "write", data: bytes.subarray(at, at + splitBytes), tokens: isLast ? tokens : 0, apart: true }
  }
}
