// A call as one of two attempts that run beside each other sees it: each has a record of its own until it is known who
// answers, and one that was outrun finds its client gone.
import type { Call } from "./call.ts"
import type { ExchangeRecord } from "./record.ts"

export class Beside implements Call {
  record: ExchangeRecord
  private isOutrun = false

  constructor(
    private readonly call: Call,
    record: ExchangeRecord = call.record,
  ) {
    this.record = record
  }

  /** The other one answers: what this one still notes is nobody's. */
  outrun(): void {
    this.isOutrun = true
    this.record = { ...this.record }
  }

  /** It answers, so that what it notes is the call's. */
  wins(): void {
    const { model, provider, target, attemptStartedAt, losses, usage, firstEventAt } = this.record
    const own = { model, provider, target, attemptStartedAt, losses, usage, firstEventAt }
    this.record = Object.assign(this.call.record, own)
  }

  isGone(): boolean {
    return this.isOutrun || this.call.isGone()
  }

  get protocol() {
    return this.call.protocol
  }

  get envelope() {
    return this.call.envelope
  }

  get caller() {
    return this.call.caller
  }

  get allowance() {
    return this.call.allowance
  }

  get modelsPath() {
    return this.call.modelsPath
  }

  get idempotencyKey() {
    return this.call.idempotencyKey
  }

  readBody() {
    return this.call.readBody()
  }

  bodyRead(): void {
    this.call.bodyRead()
  }

  forgetBody(): void {
    this.call.forgetBody()
  }

  cutOff(): void {
    this.call.cutOff()
  }

  finish(): void {
    this.call.finish()
  }
}
