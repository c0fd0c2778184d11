// One race: many concurrent requests on a funding source that covers ten of them; then single requests on the
// remainder.
import { type MoneyAnswer, sendRequest } from "../money/client.ts"
import { eventually } from "../stage/eventually.ts"
import { type FundingKind, FundingSource, holdNano, parseBalanceRefusal } from "./funding-sources.ts"
import { type GatedHost, INPUT_TOKENS } from "./gated-host.ts"
import type { StagedGateway } from "./other-gateway.ts"

export const MODEL = "test/model"
export const CONCURRENT_CALLS = 500
/** The number of holds that fit into a funding source, with half of one more. */
export const WORTH = 10n
/** In nano-USD for a token. */
const INPUT_NANO = 1000n
export const OUTPUT_NANO = 2000n
/** The usage of an answer: less than its hold. */
export const OUTPUT_TOKENS = 1500
const COST_NANO = INPUT_NANO * BigInt(INPUT_TOKENS) + OUTPUT_NANO * BigInt(OUTPUT_TOKENS)
const WATCH_MS = 1
const ALL_SENT_MS = 30_000
const MAX_PRINTED = 3

export interface RaceStage {
  readonly gateway: StagedGateway
  readonly host: GatedHost
  readonly print: (text: string) => void
}

/** The sums of all races. */
export class RaceTally {
  races = 0
  /** Requests that were let in although nothing was left for them, or kept out although it was. */
  admittedBeyond = 0
  refusedWrongly = 0
  /** Refusals without their code, what was needed and what was there. */
  badRefusals = 0
  /** Answers that were let in and did not come whole. */
  notWhole = 0
  looks = 0
  /** Looks that found less than nothing left. */
  belowZero = 0
}

interface RaceOptions {
  readonly kind: FundingKind
  readonly stream: boolean
  /** Whether no call is answered before all have arrived; otherwise answers are settled while others arrive. */
  readonly gated: boolean
  readonly tally: RaceTally
}

/** A funding source worth so many requests of this kind, and what each of them holds. */
export async function fundingFor(gateway: StagedGateway, { kind, stream }: Pick<RaceOptions, "kind" | "stream">) {
  const hold = await holdNano(gateway, { kind, model: MODEL, stream })
  return { hold, funding: await FundingSource.open(gateway, kind, WORTH * hold + hold / 2n) }
}

export class OverspendRace {
  private constructor(
    private readonly stage: RaceStage,
    private readonly options: RaceOptions,
    readonly funding: FundingSource,
    private readonly hold: bigint,
  ) {}

  static async prepare(stage: RaceStage, options: RaceOptions): Promise<OverspendRace> {
    const { funding, hold } = await fundingFor(stage.gateway, options)
    return new OverspendRace(stage, options, funding, hold)
  }

  async run(): Promise<void> {
    const { tally, kind, stream, gated } = this.options
    const watching = this.watch()
    const admitted = gated ? await this.allBeforeAny() : await this.asTheyCome()
    const more = await this.oneByOne(this.funding.worthNano - BigInt(admitted) * COST_NANO)
    await watching.stop()
    tally.races++
    const how = `${stream ? "streamed" : "unary"}, ${gated ? "all sent before any was answered" : "answered as they arrived"}`
    this.stage.print(`${kind.what}, ${how}: ${admitted} admitted, then ${more} one by one`)
  }

  /** No call is answered before all have arrived: as many are admitted as holds fit. */
  private async allBeforeAny(): Promise<number> {
    const { host } = this.stage
    const { tally } = this.options
    const received: MoneyAnswer[] = []
    host.close({ outputTokens: OUTPUT_TOKENS })
    const asking = Array.from({ length: CONCURRENT_CALLS }, async (_, turn) => received.push(await this.ask(turn)))
    const haveAllArrived = () => received.length + host.calls >= CONCURRENT_CALLS
    await eventually(haveAllArrived, { withinMs: ALL_SENT_MS, what: "the arrival of all calls" })
    const [admitted, refused] = [host.calls, [...received]]
    host.open()
    await Promise.all(asking)
    for (const each of refused) this.checkRefusal(each, this.funding.worthNano - WORTH * this.hold)
    tally.admittedBeyond += Math.max(0, admitted - Number(WORTH))
    tally.refusedWrongly += Math.max(0, Number(WORTH) - admitted)
    tally.notWhole += admitted - received.filter((each) => this.isWhole(each)).length
    return admitted
  }

  /** Answers are paid for while others still ask, so that more are let in, as room is made. */
  private async asTheyCome(): Promise<number> {
    const { host } = this.stage
    const { tally } = this.options
    host.close({ outputTokens: OUTPUT_TOKENS })
    host.open()
    const received = await Promise.all(Array.from({ length: CONCURRENT_CALLS }, (_, turn) => this.ask(turn)))
    const admitted = received.filter(({ status }) => status === 200)
    for (const each of received) if (each.status !== 200) this.checkRefusal(each)
    // The last admitted call needs its hold in addition to the cost of all others.
    const most = Number((this.funding.worthNano - this.hold) / COST_NANO) + 1
    tally.admittedBeyond += Math.max(0, admitted.length - most)
    tally.refusedWrongly += Math.max(0, Number(WORTH) - admitted.length)
    tally.notWhole += admitted.filter((each) => !this.isWhole(each)).length
    return admitted.length
  }

  /** Until a hold does not fit; how many were let in. */
  private async oneByOne(leftNano: bigint): Promise<number> {
    const { tally } = this.options
    let left = leftNano
    for (let count = 0; ; count++) {
      const received = await this.ask(count)
      const fits = left >= this.hold
      if (received.status !== 200) {
        if (fits) tally.refusedWrongly++
        this.checkRefusal(received, left)
        return count
      }
      if (!fits) tally.admittedBeyond++
      if (!this.isWhole(received)) tally.notWhole++
      left -= COST_NANO
    }
  }

  private ask(turn: number): Promise<MoneyAnswer> {
    const { stream } = this.options
    const { url } = this.stage.gateway
    return sendRequest({ url, key: this.funding.key(turn), protocol: "openai-chat", model: MODEL, stream })
  }

  private isWhole({ status, text }: MoneyAnswer): boolean {
    return status === 200 && text.includes(this.options.stream ? "data: [DONE]" : '"finish_reason"')
  }

  /** `leftNano` is what has to be named as left, where that is known. */
  private checkRefusal({ status, text }: MoneyAnswer, leftNano?: bigint): void {
    const { tally, kind } = this.options
    const { code, neededNano, leftNano: named = this.hold } = parseBalanceRefusal(text)
    const isTrue = leftNano === undefined ? named < this.hold : named === leftNano
    if (status === 403 && code === kind.code && neededNano === this.hold && isTrue) return
    if (tally.badRefusals++ < MAX_PRINTED) this.stage.print(`${kind.what}: ${status} ${text}`)
  }

  private watch(): { stop(): Promise<void> } {
    const { tally } = this.options
    let isOver = false
    const look = async () => {
      while (!isOver) {
        tally.looks++
        if ((await this.funding.leftNano()) < 0n) tally.belowZero++
        await Bun.sleep(WATCH_MS)
      }
    }
    const looking = look()
    return {
      stop: () => {
        isOver = true
        return looking
      },
    }
  }
}
