// A call as one of two attempts that run beside each other sees it: each has a record of its own until it is known who
// answers, and one that was outrun finds its client gone.
import type { ClientCall } from "../exchange-deps.ts"
import type { ExchangeRecord } from "../exchange-record.ts"

export class HedgedCall implements ClientCall {
  record: ExchangeRecord
  private hasLostRace = false

  constructor(
    private readonly call: ClientCall,
    record: ExchangeRecord = call.record,
  ) {
    this.record = record
  }

  /** The other one answers: what this one still notes is nobody's. */
  loseRace(): void {
    this.hasLostRace = true
    this.record = { ...this.record }
  }

  /** It answers, so that what it notes is the call's. */
  winRace(): void {
    const { model, provider, target, attemptStartedAt, losses, usage, firstEventAt } = this.record
    const own = { model, provider, target, attemptStartedAt, losses, usage, firstEventAt }
    this.record = Object.assign(this.call.record, own)
  }

  isGone(): boolean {
    return this.hasLostRace || this.call.isGone()
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

  shrinkBody(): void {
    this.call.shrinkBody()
  }

  releaseBody(): void {
    this.call.releaseBody()
  }

  closeConnection(): void {
    this.call.closeConnection()
  }

  finish(): void {
    this.call.finish()
  }
}
