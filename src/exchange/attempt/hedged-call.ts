// A client call as one of two parallel attempts sees it: each has its own record until one wins, and the loser sees its
// client as gone.
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

  /** The other attempt won: this record is discarded. */
  loseRace(): void {
    this.hasLostRace = true
    this.record = { ...this.record }
  }

  /** This attempt won: its record becomes the call's. */
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
