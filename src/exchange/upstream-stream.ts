// One upstream stream as it is read: the bytes to pass on, until its terminal event or its failure.
import { GatewayError } from "../canonical/error.ts"
import type { Finish } from "../canonical/response.ts"
import { isMeaningful, type StreamEvent } from "../canonical/stream.ts"
import type { Usage } from "../canonical/usage.ts"
import type { Mark } from "../routing/health.ts"
import { fromByteText } from "../transport/byte-text.ts"
import { failure } from "../transport/http-client.ts"
import { type Frame, SseLimitError } from "../transport/sse.ts"
import type { Verdict } from "../transport/tee.ts"
import { formAsked, isTruncated, StreamedForm } from "./answer-marks.ts"
import { asUpstreamError, kindOf, timeLeft } from "./attempt.ts"
import type { Given } from "./bill.ts"
import { drain } from "./drain.ts"
import { type HostedCallTally, tallyHostedCalls } from "./hosted-call-tally.ts"
import type { Attempt, Passage } from "./lane.ts"
import { MAX_MEANINGLESS_BYTES, MeaninglessBytes } from "./meaningless-bytes.ts"
import { noteAnswered, noteHome } from "./noted-answer.ts"
import { ClientGoneError } from "./record.ts"
import type { RunningCall } from "./running.ts"
import { SaidText } from "./said-text.ts"
import type { Spent, Told } from "./spent.ts"
import { callUpstream, upstreamError, withoutCredential } from "./upstream.ts"

/** Openers are held back until the first meaningful event, but not beyond this. */
const MAX_HELD_BYTES = 256 * 1024
/** For so long usage is waited for when the client has left at the end of its answer. */
const USAGE_MS = 5000
/** After so much more text the hold is compared with it again. */
const GROWTH_STEP = 1024

export type ReadResult = { readonly done: true } | { readonly done: false; readonly value: Uint8Array }

interface Reader {
  read(): Promise<ReadResult>
}

/** Before the upstream has answered there is nothing to read. */
const NOBODY: Reader = { read: () => Promise.resolve({ done: true }) }

export class UpstreamStream {
  /** What came before, and with, the first meaningful event. */
  readonly held: Uint8Array[] = []
  private readonly running: RunningCall
  /** How it is written to the client, and so how its failure is. */
  readonly passage: Passage
  private readonly gapMs: number
  private reader: Reader = NOBODY
  private meaningful = false
  /** Nothing is held back any more. */
  private committed = false
  ended = false
  private blind = false
  private callOpen = false
  private readonly said = new SaidText()
  private readonly meaningless = new MeaninglessBytes()
  /** The length of its text when the hold was last compared with it. */
  private coveredLength = 0
  private usage: Usage | undefined
  /** The model that the upstream says it answers with. */
  private model: string | undefined
  /** More was said since usage was told. */
  private saidSince = false
  /** Why the model stopped, once it has said so. */
  private finishedFor: Finish | undefined
  /** Absent where it may have any. */
  private readonly form: StreamedForm | undefined
  /** Its end waits until what the upstream did not report is counted. */
  holdsEnd = false
  private counted: Usage | undefined
  /** The client was given something. */
  private gave = false
  error: GatewayError | undefined

  /** Of the tools that the provider runs; absent where it runs none. */
  private readonly tally: HostedCallTally | undefined

  private constructor(private readonly attempt: Attempt) {
    this.tally = tallyHostedCalls(attempt)
    const { call, house, target, lane, request } = attempt
    const { timeouts } = house
    const form = formAsked(request)
    this.form = form && new StreamedForm(form, this.said)
    this.running = house.running.begin(call, { url: lane.url(attempt), limitMs: timeLeft(attempt) })
    this.passage = lane.passage(attempt, {
      onFrame: (frame) => this.bound(frame),
      onEvent: (event) => this.note(event),
      onSaid: (bytes, from, to) => {
        this.saidSince = true
        this.meaningless.forget()
        this.said.hearUnread(bytes, from, to)
      },
      onBlindness: (cause) => {
        this.blind = true
        house.onFault(cause)
      },
    })
    const { reasoning } = target.model
    this.gapMs = reasoning ? timeouts.patientMs : timeouts.gapMs
    // Until the first meaningful event the wait is one, whatever else comes.
    this.running.silenceMs = reasoning ? timeouts.patientMs : timeouts.firstEventMs
    this.running.waitingSince = this.running.startedAt
  }

  /** Calls the target and reads up to its first meaningful event; until then another target could still answer. */
  static async open(attempt: Attempt): Promise<UpstreamStream> {
    const stream = new UpstreamStream(attempt)
    try {
      const response = await callUpstream(attempt, stream.running)
      if (!response.ok) throw await upstreamError(response, attempt, stream.running)
      if (!response.body) throw incomplete()
      stream.reader = response.body.getReader()
      await stream.hold()
      return stream
    } catch (thrown) {
      throw stream.fail(thrown)
    }
  }

  /** What the upstream says next, to be given to `take`. Fails as the connection does; `fail` says why. */
  read(): Promise<ReadResult> {
    if (this.committed) this.running.waitingSince = performance.now()
    return this.reader.read()
  }

  /** The bytes to pass for what was read, if any; sets `ended` or `error` where they are the last. */
  take(result: ReadResult): Uint8Array | undefined {
    if (this.committed) this.running.waitingSince = 0
    if (this.tally && !result.done) this.tally.push(result.value)
    return result.done ? this.finish() : this.passage.push(result.value)
  }

  /** A promise to await before what was taken is delivered; undefined where the hold covers it. */
  cover(): Promise<void> | undefined {
    const { length } = this.said
    if (length < this.coveredLength + GROWTH_STEP || this.ended) return undefined
    this.coveredLength = length
    const { bill, target } = this.attempt
    return bill?.cover(target, { usage: this.usage, length, hostedCalls: this.tally?.calls })
  }

  /** What is owed for it; nothing where nothing was given. */
  async settle(waiting: Given["waiting"], last?: Given["last"]): Promise<void> {
    const { bill, target, call } = this.attempt
    if (this.ended) noteAnswered(this.attempt, { usage: this.told().usage, marks: () => this.marks() })
    if (!last && !this.gave) return bill?.release()
    const said = () => this.said.whole()
    const onSpent = (spent: Spent) => {
      this.counted = spent.usage
    }
    await bill?.settle(target, { told: this.told(), said, waiting, onSpent, ...(last && { last }) })
    if (this.ended) noteHome(this.attempt, call.record.usage)
  }

  /** The bytes that end it, where they were held back; asked for once what was used is counted. */
  end(): Uint8Array | undefined {
    return this.passage.end(this.counted)
  }

  private marks(): Mark[] {
    const faults = this.form?.faults(this.finishedFor) ?? []
    const isShort = isTruncated(this.finishedFor, { usage: this.told().usage, attempt: this.attempt })
    return isShort ? [...faults, "truncated"] : faults
  }

  /** The client has left. Where only the usage was still to come, that is waited for. */
  async leave(): Promise<void> {
    if (this.finishedFor && !this.told().isAll) await this.readUsage()
    this.fail(new ClientGoneError())
  }

  /** Ends the upstream call for this reason, and says it as an error. */
  fail(thrown: unknown): GatewayError {
    const { abort } = this.running
    const known = thrown instanceof GatewayError || thrown instanceof SseLimitError || thrown instanceof ClientGoneError
    const error = asUpstreamError(known ? thrown : failure(thrown, abort))
    this.release()
    if (!abort.aborted) abort.abort(known ? thrown : error)
    // Until then another target may answer, and who looks for one tells of this.
    if (this.committed) this.noteFailed(error)
    return error
  }

  private noteFailed(error: GatewayError): void {
    const { house, trial } = this.attempt
    if (trial) house.health.ended(trial, { failed: kindOf(error), retryAfterMs: error.retryAfterMs })
  }

  /** Lets go of an upstream call that has ended; its connection can be used again once it is read empty. */
  close(): void {
    this.release()
    const { abort } = this.running
    if (this.ended) void drain(this.reader, { abort, deadlines: this.attempt.house.deadlines })
  }

  private async hold(): Promise<void> {
    let length = 0
    while (!this.blind && length < MAX_HELD_BYTES) {
      const bytes = this.take(await this.read())
      if (bytes) this.held.push(bytes)
      if (this.meaningful) break
      if (this.error) throw this.error
      if (this.ended) throw incomplete()
      length += bytes?.byteLength ?? 0
    }
    this.committed = true
    const { house, trial } = this.attempt
    if (trial) house.health.answering(trial, performance.now() - this.running.startedAt)
    this.running.waitingSince = 0
    this.running.silenceMs = this.callOpen ? this.attempt.house.timeouts.patientMs : this.gapMs
  }

  private finish(): Uint8Array | undefined {
    const passed = this.passage.finish()
    if (this.ended || this.error) return passed
    this.passage.conclude()
    if (this.ended) return withTerminal(passed, this.passage.terminal())
    if (this.blind) this.ended = true
    else this.error ??= incomplete()
    // A piece of an event that was cut off would be all that a client then reads.
    return this.ended ? passed : undefined
  }

  private told(): Told {
    const { model } = this
    const hostedCalls = this.tally?.calls
    const alike = this.passage.usageAlike?.()
    if (alike) return { usage: alike, isAll: true, model, hostedCalls }
    return { usage: this.usage, isAll: this.usage !== undefined && !this.saidSince, model, hostedCalls }
  }

  private async readUsage(): Promise<void> {
    const limit = this.attempt.house.deadlines.arm(USAGE_MS, () => this.fail(incomplete()))
    try {
      while (!this.ended && !this.error && !this.told().isAll) this.take(await this.read())
    } catch {
      // What was told by then has to do.
    } finally {
      limit.clear()
    }
  }

  /** A host that sends and says nothing is not listened to for ever. Where nobody reads along, nobody can tell. */
  private bound(frame: Frame): Verdict {
    if (this.blind || !this.meaningless.exceededBy(frame)) return "go-on"
    this.error = withoutContent()
    return "stop-before"
  }

  /** What the observer saw. */
  private note(event: StreamEvent): Verdict {
    this.hear(event)
    this.meaningless.hear(event)
    this.form?.hear(event)
    if (!this.meaningful && isMeaningful(event)) {
      this.meaningful = true
      this.attempt.call.record.firstEventAt = performance.now()
    }
    if (event.type === "part-start" && event.start.kind === "tool-call") this.allowSilence(true)
    else if (event.type === "candidate-end") {
      this.allowSilence(false)
      this.finishedFor = event.finish
      this.running.outlivesClient = true
    } else if (event.type === "stream-error") {
      this.error = withoutCredential(event.error, this.attempt.target)
      return "stop-before"
    } else if (event.type === "stream-end") {
      this.ended = true
      const { bill, target } = this.attempt
      this.holdsEnd = bill !== undefined && !bill.reported(target, this.told())
      return this.holdsEnd ? "hold-frame" : "last-frame"
    }
    return "go-on"
  }

  /** Keeps what is said, and what it is told to have used. */
  private hear(event: StreamEvent): void {
    if (event.type === "part-delta") {
      this.said.hear(event.candidate, event.text)
      this.saidSince = true
      this.gave = true
    } else if (event.type === "part-start") {
      const { candidate, start } = event
      this.said.pause(candidate)
      if (start.kind === "tool-call") this.said.hear(candidate, `${start.name}\n`)
      if (start.kind === "tool-call" || start.kind === "whole") this.gave = true
    } else if (event.type === "usage") {
      this.usage = event.usage
      this.saidSince = false
    } else if (event.type === "stream-start") this.model = event.model
  }

  /** A model that writes a tool call's arguments may be silent for longer. */
  private allowSilence(callOpen: boolean): void {
    this.callOpen = callOpen
    if (this.committed) this.running.silenceMs = callOpen ? this.attempt.house.timeouts.patientMs : this.gapMs
  }

  private release(): void {
    this.attempt.house.running.end(this.running)
  }
}

function withTerminal(passed: Uint8Array | undefined, terminal: string): Uint8Array | undefined {
  if (terminal === "") return passed
  const end = fromByteText(terminal)
  return passed ? Buffer.concat([passed, end]) : end
}

function withoutContent(): GatewayError {
  const sent = `${MAX_MEANINGLESS_BYTES / 1024 / 1024} MiB`
  const message = `The provider sent ${sent} without any content, and the stream was stopped.`
  return new GatewayError("upstream_unavailable", message, { owner: "upstream" })
}

function incomplete(): GatewayError {
  const message = "The provider's stream ended before its answer was complete."
  return new GatewayError("upstream_unavailable", message, { owner: "upstream" })
}
