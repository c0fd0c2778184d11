// One upstream stream as it is read: the bytes to pass on, until its terminal event or its failure.

import type { CandidateFinish } from "../../canonical/chat/chat-response.ts"
import { isMeaningful, type StreamEvent } from "../../canonical/chat/stream-event.ts"
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { Usage } from "../../canonical/usage.ts"
import type { AnswerDefect } from "../../routing/health-monitor.ts"
import { toSendError } from "../../transport/http-client.ts"
import { fromByteText } from "../../transport/json/byte-text.ts"
import { type SseFrame, SseLimitError } from "../../transport/streams/sse.ts"
import type { FrameVerdict } from "../../transport/streams/tee.ts"
import { isTruncated, requestedFormat, StreamFormatCheck } from "../attempt/answer-defects.ts"
import { asUpstreamError, failureKindOf, timeLeft } from "../attempt/attempt-targets.ts"
import { callUpstream, upstreamError, withoutCredential } from "../attempt/call-upstream.ts"
import { type HostedCallTally, tallyHostedCalls } from "../attempt/hosted-call-tally.ts"
import { recordAnswered, recordSessionHome } from "../attempt/record-outcome.ts"
import type { UpstreamCall } from "../attempt/upstream-calls.ts"
import type { DeliveredAnswer } from "../charge/charge-session.ts"
import type { MeasuredUsage, ReportedUsage } from "../charge/measured-usage.ts"
import { ClientGoneError } from "../client-gone-error.ts"
import type { Attempt, StreamPipe } from "../lanes/lane.ts"
import { AnswerTranscript } from "./answer-transcript.ts"
import { drainStream } from "./drain-stream.ts"
import { MAX_MEANINGLESS_BYTES, MeaninglessBytes } from "./meaningless-bytes.ts"

/** Openers are held back until the first meaningful event, but not beyond this. */
const MAX_HELD_BYTES = 256 * 1024
/** For so long usage is waited for when the client has left at the end of its answer. */
const USAGE_MS = 5000
/** After so much more text the hold is compared with it again. */
const GROWTH_STEP = 1024

export type ReadResult = { readonly done: true } | { readonly done: false; readonly value: Uint8Array }

type StreamSettlement = Pick<DeliveredAnswer, "waiter" | "last" | "error">

interface ChunkReader {
  read(): Promise<ReadResult>
}

/** Before the upstream has answered there is nothing to read. */
const NO_READER: ChunkReader = { read: () => Promise.resolve({ done: true }) }

export class UpstreamStream {
  /** What came before, and with, the first meaningful event. */
  readonly held: Uint8Array[] = []
  private readonly upstreamCall: UpstreamCall
  /** How it is written to the client, and so how its failure is. */
  readonly pipe: StreamPipe
  private readonly gapMs: number
  private reader: ChunkReader = NO_READER
  private meaningful = false
  /** Nothing is held back any more. */
  private committed = false
  ended = false
  private blind = false
  private callOpen = false
  private readonly transcript = new AnswerTranscript()
  private readonly meaningless = new MeaninglessBytes()
  /** The length of its text when the hold was last compared with it. */
  private coveredLength = 0
  private usage: Usage | undefined
  /** The model that the upstream says it answers with. */
  private model: string | undefined
  /** True if content arrived after the usage report. */
  private textSinceUsage = false
  /** The reported finish reason. */
  private finishedFor: CandidateFinish | undefined
  /** Absent where it may have any. */
  private readonly format: StreamFormatCheck | undefined
  /** Its end waits until what the upstream did not report is counted. */
  holdsEnd = false
  private counted: Usage | undefined
  /** The client was given something. */
  private hasDelivered = false
  error: GatewayError | undefined

  /** Of the tools that the provider runs; absent where it runs none. */
  private readonly tally: HostedCallTally | undefined

  private constructor(private readonly attempt: Attempt) {
    this.tally = tallyHostedCalls(attempt)
    const { client, deps, target, lane, request } = attempt
    const { timeouts } = deps
    const form = requestedFormat(request)
    this.format = form && new StreamFormatCheck(form, this.transcript)
    this.upstreamCall = deps.upstreamCalls.begin(client, { url: lane.url(attempt), limitMs: timeLeft(attempt) })
    this.pipe = lane.openPipe(attempt, {
      onFrame: (frame) => this.limitMeaningless(frame),
      onEvent: (event) => this.note(event),
      onText: (bytes, from, to) => {
        this.textSinceUsage = true
        this.meaningless.forget()
        this.transcript.addUnread(bytes, from, to)
      },
      onObserverFailure: (cause) => {
        this.blind = true
        deps.onFault(cause)
      },
    })
    const { reasoning } = target.model
    this.gapMs = reasoning ? timeouts.patientMs : timeouts.gapMs
    // Until the first meaningful event the wait is one, whatever else comes.
    this.upstreamCall.silenceMs = reasoning ? timeouts.patientMs : timeouts.firstEventMs
    this.upstreamCall.waitingSince = this.upstreamCall.startedAt
  }

  /** Calls the target and reads up to its first meaningful event; until then another target could still answer. */
  static async open(attempt: Attempt): Promise<UpstreamStream> {
    const stream = new UpstreamStream(attempt)
    try {
      const response = await callUpstream(attempt, stream.upstreamCall)
      if (!response.ok) throw await upstreamError(response, attempt, stream.upstreamCall)
      if (!response.body) throw incompleteError()
      stream.reader = response.body.getReader()
      await stream.hold()
      return stream
    } catch (thrown) {
      throw stream.fail(thrown)
    }
  }

  /** What the upstream says next, to be given to `take`. Fails as the connection does; `fail` says why. */
  read(): Promise<ReadResult> {
    if (this.committed) this.upstreamCall.waitingSince = performance.now()
    return this.reader.read()
  }

  /** The bytes to pass for what was read, if any; sets `ended` or `error` where they are the last. */
  take(result: ReadResult): Uint8Array | undefined {
    if (this.committed) this.upstreamCall.waitingSince = 0
    if (this.tally && !result.done) this.tally.push(result.value)
    return result.done ? this.finish() : this.pipe.push(result.value)
  }

  /** A promise to await before what was taken is delivered; undefined where the hold covers it. */
  cover(): Promise<void> | undefined {
    const { length } = this.transcript
    if (length < this.coveredLength + GROWTH_STEP || this.ended) return undefined
    this.coveredLength = length
    const { chargeSession, target } = this.attempt
    return chargeSession?.cover(target, { usage: this.usage, length, hostedCalls: this.tally?.calls })
  }

  /** What is owed for it; nothing where nothing was given. */
  async settle({ waiter, last, error }: StreamSettlement): Promise<void> {
    const { chargeSession, target, call, facts } = this.attempt
    facts.endedAt ??= performance.now()
    if (this.ended) recordAnswered(this.attempt, { usage: this.reportedUsage().usage, defects: () => this.defects() })
    if (!last && !this.hasDelivered) return chargeSession?.release(error)
    const readTranscript = () => this.transcript.whole()
    const onSpent = (spent: MeasuredUsage) => {
      this.counted = spent.usage
    }
    await chargeSession?.settle(target, {
      reported: this.reportedUsage(),
      transcript: readTranscript,
      waiter,
      error,
      onMeasured: onSpent,
      ...(last && { last }),
    })
    if (this.ended) recordSessionHome(this.attempt, call.progress.usage)
  }

  /** The final bytes, if they were held back; called once the usage is counted. */
  end(): Uint8Array | undefined {
    return this.pipe.end(this.counted)
  }

  private defects(): AnswerDefect[] {
    const faults = this.format?.faults(this.finishedFor) ?? []
    const isShort = isTruncated(this.finishedFor, { usage: this.reportedUsage().usage, attempt: this.attempt })
    return isShort ? [...faults, "truncated"] : faults
  }

  /** The client has left. Where only the usage was still to come, that is waited for. */
  async leave(): Promise<void> {
    if (this.finishedFor && !this.reportedUsage().isAll) await this.readUsage()
    this.fail(new ClientGoneError())
  }

  /** Ends the upstream call for this reason, and says it as an error. */
  fail(thrown: unknown): GatewayError {
    const { abort } = this.upstreamCall
    const known = thrown instanceof GatewayError || thrown instanceof SseLimitError || thrown instanceof ClientGoneError
    const error = asUpstreamError(known ? thrown : toSendError(thrown, abort))
    this.release()
    if (!abort.aborted) abort.abort(known ? thrown : error)
    // Until then another target may answer, and the attempt loop records the failure.
    if (this.committed) this.noteFailed(error)
    return error
  }

  private noteFailed(error: GatewayError): void {
    const { deps, trial } = this.attempt
    if (trial) deps.health.endAttempt(trial, { failed: failureKindOf(error), retryAfterMs: error.retryAfterMs })
  }

  /** Lets go of an upstream call that has ended; its connection can be used again once it is read empty. */
  close(): void {
    this.release()
    const { abort } = this.upstreamCall
    if (this.ended) void drainStream(this.reader, { abort, deadlines: this.attempt.deps.deadlines })
  }

  private async hold(): Promise<void> {
    let length = 0
    while (!this.blind && length < MAX_HELD_BYTES) {
      const bytes = this.take(await this.read())
      if (bytes) this.held.push(bytes)
      if (this.meaningful) break
      if (this.error) throw this.error
      if (this.ended) throw incompleteError()
      length += bytes?.byteLength ?? 0
    }
    this.committed = true
    const { deps, trial } = this.attempt
    if (trial) deps.health.noteFirstToken(trial, performance.now() - this.upstreamCall.startedAt)
    this.upstreamCall.waitingSince = 0
    this.upstreamCall.silenceMs = this.callOpen ? this.attempt.deps.timeouts.patientMs : this.gapMs
  }

  private finish(): Uint8Array | undefined {
    const passed = this.pipe.finish()
    if (this.ended || this.error) return passed
    this.pipe.interpretEnd()
    if (this.ended) return withTerminal(passed, this.pipe.terminal())
    if (this.blind) this.ended = true
    else this.error ??= incompleteError()
    // A piece of an event that was cut off would be all that a client then reads.
    return this.ended ? passed : undefined
  }

  private reportedUsage(): ReportedUsage {
    const { model } = this
    const hostedCalls = this.tally?.calls
    const alike = this.pipe.usageAlike?.()
    if (alike) return { usage: alike, isAll: true, model, hostedCalls }
    return { usage: this.usage, isAll: this.usage !== undefined && !this.textSinceUsage, model, hostedCalls }
  }

  private async readUsage(): Promise<void> {
    const limit = this.attempt.deps.deadlines.arm(USAGE_MS, () => this.fail(incompleteError()))
    try {
      while (!this.ended && !this.error && !this.reportedUsage().isAll) this.take(await this.read())
    } catch {
      // The usage reported so far has to suffice.
    } finally {
      limit.clear()
    }
  }

  /** Stops a stream that sends no content. Undetectable if the stream is not observed. */
  private limitMeaningless(frame: SseFrame): FrameVerdict {
    if (this.blind || !this.meaningless.exceededBy(frame)) return "go-on"
    this.error = noContentError()
    return "stop-before"
  }

  /** What the observer saw. */
  private note(event: StreamEvent): FrameVerdict {
    this.collectText(event)
    this.meaningless.hear(event)
    this.format?.hear(event)
    if (!this.meaningful && isMeaningful(event)) {
      this.meaningful = true
      this.attempt.facts.firstEventAt = performance.now()
    }
    if (event.type === "part-start" && event.start.kind === "tool-call") this.allowSilence(true)
    else if (event.type === "candidate-end") {
      this.allowSilence(false)
      this.finishedFor = event.finish
      this.upstreamCall.outlivesClient = true
    } else if (event.type === "stream-error") {
      this.error = withoutCredential(event.error, this.attempt.target)
      return "stop-before"
    } else if (event.type === "stream-end") {
      this.ended = true
      const { chargeSession, target } = this.attempt
      this.holdsEnd = chargeSession !== undefined && !chargeSession.reported(target, this.reportedUsage())
      return this.holdsEnd ? "hold-frame" : "last-frame"
    }
    return "go-on"
  }

  /** Records content and reported usage. */
  private collectText(event: StreamEvent): void {
    if (event.type === "part-delta") {
      this.transcript.addText(event.candidate, event.text)
      this.textSinceUsage = true
      this.hasDelivered = true
    } else if (event.type === "part-start") {
      const { candidate, start } = event
      this.transcript.addBreak(candidate)
      if (start.kind === "tool-call") this.transcript.addText(candidate, `${start.name}\n`)
      if (start.kind === "tool-call" || start.kind === "whole") this.hasDelivered = true
    } else if (event.type === "usage") {
      this.usage = event.usage
      this.textSinceUsage = false
    } else if (event.type === "stream-start") this.model = event.model
  }

  /** A model that writes a tool call's arguments may be silent for longer. */
  private allowSilence(callOpen: boolean): void {
    this.callOpen = callOpen
    if (this.committed) this.upstreamCall.silenceMs = callOpen ? this.attempt.deps.timeouts.patientMs : this.gapMs
  }

  private release(): void {
    this.attempt.deps.upstreamCalls.end(this.upstreamCall)
  }
}

function withTerminal(passed: Uint8Array | undefined, terminal: string): Uint8Array | undefined {
  if (terminal === "") return passed
  const end = fromByteText(terminal)
  return passed ? Buffer.concat([passed, end]) : end
}

function noContentError(): GatewayError {
  const sent = `${MAX_MEANINGLESS_BYTES / 1024 / 1024} MiB`
  const message = `The provider sent ${sent} without any content, so the gateway stopped the stream.`
  return new GatewayError("upstream_unavailable", message, { owner: "upstream" })
}

function incompleteError(): GatewayError {
  const message = "The provider's stream ended before the response was complete."
  return new GatewayError("upstream_unavailable", message, { owner: "upstream" })
}
