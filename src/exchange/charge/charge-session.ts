// The charge of one exchange: held before any provider is called, extended as a stream grows, and settled exactly once
// before the last byte is sent.
import { setTimeout } from "node:timers/promises"
import { GatewayError } from "../../canonical/gateway-error.ts"
import { totalTokens, type Usage } from "../../canonical/usage.ts"
import { findOtherModel, type OtherModel } from "../../catalog/reported-model.ts"
import { familyOf } from "../../counting/count-tokens.ts"
import { chargeOf } from "../../ledger/cost.ts"
import type { Settlement } from "../../ledger/ledger.ts"
import { sumOfFees, type ToolFee, toolFees } from "../../ledger/tool-fees.ts"
import type { Target } from "../../routing/route-plan.ts"
import type { IdempotencyClaim, SentAnswer } from "../conversations/idempotency.ts"
import type { ExchangeContext } from "../exchange-context.ts"
import type { ExchangeLedger } from "../exchange-deps.ts"
import type { SettledCharge } from "../record/exchange-progress.ts"
import { type InputSample, sampleInput } from "./input-sample.ts"
import {
  acceptReported,
  countMissing,
  countTokensIn,
  type MeasuredUsage,
  type ReportedUsage,
  type TokenCounting,
  type UsageCounter,
} from "./measured-usage.ts"
import { receiptFacts } from "./receipt-facts.ts"
import { computeExtension, computeHold, type HoldExtension, outputLimitOf, type RequestHold } from "./request-hold.ts"

/** Time limits for counting tokens: for a whole response, an error, or after the client has left. */
const COUNT_PATIENCE_MS = { answer: 500, error: 150, departed: 30_000 }
/** A counter that was idle is loaded first, in half a second on a quiet machine. */
const LOAD_PATIENCE_MS = 10_000
/** How long the last byte waits for a failing store; the charge is written when the store recovers. */
const STORE_PATIENCE_MS = 2000
const NO_FEES: readonly ToolFee[] = []
const RETRY_MS = { first: 50, most: 1000 }
/** Lower bound of tokens per byte: the amount surely owed if the process dies. */
const LEAST_TOKENS_PER_BYTE = 1 / 16

export interface ChargeSessionOptions extends ExchangeContext {
  readonly ledger: ExchangeLedger
  readonly targets: readonly Target[]
  /** Where the request may be sent again. */
  readonly claim: IdempotencyClaim | undefined
}

/** An answer as far as it was given. */
export interface DeliveredAnswer {
  readonly reported: ReportedUsage
  /** The response's text, and its share of the whole. Called only if the upstream reports no usage. */
  transcript(): { readonly text: string; readonly share: number }
  readonly waiter: keyof typeof COUNT_PATIENCE_MS
  /** The error that ended it. */
  readonly error?: GatewayError | undefined
  /** Called with the charged usage, before it is booked and before `last.bytes` is called. */
  onMeasured?(spent: MeasuredUsage): void
  /** How it ended for the client; absent where it did not end well. */
  readonly last?: {
    readonly contentType: string
    /** The bytes that were not passed to `sent`. */
    bytes?(): Uint8Array | undefined
    /** The client left before the end. */
    readonly cutShort?: boolean
  }
}

/** A streamed answer as far as it was read. */
interface StreamProgress extends Pick<ReportedUsage, "hostedCalls"> {
  readonly usage: Usage | undefined
  /** Of its text, in bytes. */
  readonly length: number
}

type ExtensionOutcome = "extended" | "refused" | "failed"

export class ChargeSession {
  /** The booked usage and cost, once they are known. */
  settled: SettledCharge | undefined
  private heldOutput: number
  private extending: Promise<ExtensionOutcome> | undefined
  /** The answer was cut where its hold ended: what was read beyond that was not delivered, and is not charged. */
  private isOutspent = false
  private input: InputSample | undefined
  private ending: Promise<void> | undefined

  private constructor(
    private readonly options: ChargeSessionOptions,
    private readonly hold: RequestHold,
  ) {
    this.heldOutput = hold.outputTokens
  }

  /** Holds what the request may cost; throws or rejects where the caller may not, or cannot, pay that. */
  static open(options: ChargeSessionOptions): Promise<ChargeSession> {
    const { call, ledger } = options
    const { id: keyId, tenant, budgetsInForce: budgets } = call.caller
    const chargeSession = new ChargeSession(options, reserveHold(options))
    const { requestId } = call.progress
    const holding = ledger.hold({
      requestId,
      tenant,
      keyId,
      amountNano: chargeSession.hold.nano,
      budgets,
      at: Date.now(),
    })
    return holding.then(
      () => chargeSession,
      (thrown) => {
        call.allowance.correct(chargeSession.hold.likelyTokens, 0)
        options.claim?.end()
        throw thrown
      },
    )
  }

  /** Targets with a price, which may be called. */
  get targets(): readonly Target[] {
    return this.hold.targets
  }

  /** Called before the request's text is released. */
  keepInput(): void {
    const { call, deps, request } = this.options
    const { protocol, envelope } = call
    this.input ??= sampleInput(request.text, { protocol: protocol.id, envelope, codecs: deps.codecs })
  }

  /** Bytes that went to the client. */
  sent(bytes: Uint8Array): void {
    this.options.claim?.sent(bytes)
  }

  /**
   * Notes what is surely owed, and extends the hold ahead of the answer. Where the answer has outgrown its hold, returns
   * a promise to await before more of it is delivered; it rejects when balance or budget cover no more.
   */
  cover(target: Target, { usage = {}, length, hostedCalls }: StreamProgress): Promise<void> | undefined {
    const { pricing } = target
    if (!pricing || this.ending) return undefined
    const { ledger, call } = this.options
    const output = Math.max(usage.output ?? 0, Math.floor(length * LEAST_TOKENS_PER_BYTE))
    const lowerBoundNano = chargeOf({ usage: { ...usage, output } }, pricing)
    if (lowerBoundNano !== undefined) ledger.note(call.progress.requestId, { lowerBoundNano })
    const leastOutput = Math.max(output, usage.output === undefined ? 0 : outputIn(usage))
    if (!hostedCalls) this.noteOverrun(target, leastOutput)
    const findMissing = () => computeExtension(this.hold, { target, length, leastOutput, heldOutput: this.heldOutput })
    const missing = findMissing()
    if (missing?.isDue) return this.extendUntilCovered(findMissing)
    if (missing && !this.extending) void this.extend(missing)
    return undefined
  }

  /** Settles the delivered response. Only the first call counts. */
  settle(target: Target, given: DeliveredAnswer): Promise<void> {
    this.ending ??= this.end(target, given)
    const { deps } = this.options
    if (given.waiter !== "error" || deps.tokens.isWarm !== false) return this.ending
    // An error is not kept back while the counter is loaded; what is owed is booked when it has counted.
    deps.onUnwritten(this.ending)
    return Promise.race([this.ending, setTimeout(COUNT_PATIENCE_MS.error, undefined, { ref: false })])
  }

  /** Releases the hold: nothing was delivered, and nothing is owed. */
  release(error?: GatewayError): Promise<void> {
    this.ending ??= this.releaseHold(error)
    return this.ending
  }

  private async extendUntilCovered(findMissing: () => HoldExtension | undefined): Promise<void> {
    for (let missing = findMissing(); missing?.isDue && !this.ending; missing = findMissing()) {
      const isEarlier = this.extending !== undefined
      const extending = this.extending ?? this.extend(missing)
      // Written at once: while it waited for others, the provider would go on putting out what is not held.
      this.options.ledger.flush()
      const outcome = await extending
      if (outcome === "refused" && !isEarlier) {
        this.isOutspent = true
        throw outspentError()
      }
      // A failing store stops no stream: the next extension is tried when the response has grown.
      if (outcome === "failed") return
    }
  }

  private extend({ nano, outputTokens }: HoldExtension): Promise<ExtensionOutcome> {
    const end = (outcome: ExtensionOutcome) => {
      this.extending = undefined
      if (outcome === "extended") this.heldOutput += outputTokens
      return outcome
    }
    const { ledger, call } = this.options
    this.extending = ledger.extend(call.progress.requestId, nano).then(
      (fits) => end(fits ? "extended" : "refused"),
      () => end("failed"),
    )
    return this.extending
  }

  private end(target: Target, given: DeliveredAnswer): Promise<void> {
    const spent = this.reported(target, given.reported)
    if (spent) return this.writeSettlement(target, { given, spent })
    const counting = this.counted(target, given)
    return counting.then(
      (countUsage) => this.writeSettlement(target, { given, spent: countUsage }),
      (fault) => this.waiveCharge(fault),
    )
  }

  private writeSettlement(target: Target, what: { given: DeliveredAnswer; spent: MeasuredUsage }): Promise<void> {
    const { call, ledger } = this.options
    let settlement: Settlement
    try {
      settlement = this.settlement(target, what)
    } catch (fault) {
      return this.waiveCharge(fault)
    }
    return this.write(() => ledger.settle(call.progress.requestId, settlement))
  }

  /** A cost that cannot be calculated is an internal error and is not charged. */
  private waiveCharge(fault: unknown): Promise<void> {
    this.options.deps.onFault(fault)
    return this.releaseHold()
  }

  private settlement(target: Target, { given, spent }: { given: DeliveredAnswer; spent: MeasuredUsage }): Settlement {
    const { call, request, claim } = this.options
    const { model, account } = target
    const { usage, images, basis } = spent
    const other = this.otherModel(target, given.reported.model)
    const pricing = other?.pricing ?? target.pricing
    const { hostedCalls } = given.reported
    const fees = hostedCalls ? toolFees(hostedCalls) : NO_FEES
    const chargeNano = priceUsage(spent, { model: target.model, pricing }) + sumOfFees(fees)
    if (!hostedCalls && basis !== "suspect") this.noteOverrun(target, outputIn(usage))
    given.onMeasured?.(spent)
    this.settled = { usage, costNano: chargeNano }
    call.allowance.correct(this.hold.likelyTokens, totalTokens(usage))
    const answer = claim && given.last && sentAnswer(given.last)
    const also = answer && (() => claim.answered(answer))
    const answeredModel = other?.model.id
    const { exceedsWindow } = spent
    const facts = receiptFacts(call, { request, basis, answeredModel, fees, exceedsWindow, error: given.error })
    const { id: protocol } = call.protocol
    // The price of a model that the caller did not request makes no debt.
    const mayOwe = basis === "reported" && !other
    return { chargeNano, mayOwe, model: model.id, provider: account.id, usage, images, pricing, protocol, facts, also }
  }

  /** The model that the provider reports, if it is not the requested one. */
  private otherModel(target: Target, reportedUsage: string | undefined): OtherModel | undefined {
    const { model, account, upstreamModel } = target
    if (reportedUsage === undefined || reportedUsage === upstreamModel || !account.reportsModel) return undefined
    return findOtherModel(
      reportedUsage,
      { model, provider: account.id, upstreamModel },
      this.options.deps.table().catalog,
    )
  }

  /** Not for what a provider's own tools make the model put out: that is no fault of the model's host. */
  private noteOverrun(target: Target, output: number): void {
    const { deps, request } = this.options
    deps.overruns.note(target, { output, limit: outputLimitOf(request, target) })
  }

  private releaseHold(error?: GatewayError): Promise<void> {
    const { call, ledger, request } = this.options
    call.allowance.correct(this.hold.likelyTokens, 0)
    const facts = receiptFacts(call, { request, error })
    return this.write(() => ledger.release(call.progress.requestId, { protocol: call.protocol.id, facts }))
  }

  /** What the upstream reported, where that is all and can be; undefined where something has to be counted here. */
  reported(target: Target, reported: ReportedUsage): MeasuredUsage | undefined {
    return acceptReported(reported, { target, reading: this.options.request.reading })
  }

  private counted(target: Target, { reported, transcript, waiter }: DeliveredAnswer): Promise<MeasuredUsage> {
    const { deps, request } = this.options
    const family = target.account.tokenizer ?? familyOf(target.model.id)
    const { isWarm = true } = deps.tokens
    const patienceMs = COUNT_PATIENCE_MS[waiter]
    const counting = withPatience(deps.tokens, isWarm ? patienceMs : Math.max(patienceMs, LOAD_PATIENCE_MS))
    const counted: UsageCounter = {
      input: () => {
        this.keepInput()
        const { share = 1, countable } = this.input ?? {}
        return countTokensIn(countable?.() ?? { text: "", tokens: 0 }, { share, family, counting })
      },
      output: async () => {
        const { text, share } = transcript()
        const tokens = await countTokensIn({ text, tokens: 0 }, { share, family, counting })
        return this.isOutspent ? Math.min(tokens, this.heldOutput) : tokens
      },
    }
    return countMissing(reported, { target, reading: request.reading, counted })
  }

  private write(work: () => Promise<unknown>): Promise<void> {
    return work().then(
      () => this.options.claim?.end(),
      (thrown) => this.writeAfter(work, thrown),
    )
  }

  private async writeAfter(work: () => Promise<unknown>, failed: unknown): Promise<void> {
    const writing = this.writeLater(work, failed)
    this.options.deps.onUnwritten(writing)
    await Promise.race([writing, setTimeout(STORE_PATIENCE_MS, undefined, { ref: false })])
  }

  /** Retries while the store fails; other errors would fail forever. */
  private async writeLater(work: () => Promise<unknown>, cause: unknown): Promise<void> {
    const { deps, claim } = this.options
    let failed = cause
    for (let waitMs = RETRY_MS.first; isStoreFault(failed); waitMs = Math.min(2 * waitMs, RETRY_MS.most)) {
      await setTimeout(waitMs)
      try {
        await work()
        claim?.end()
        return
      } catch (thrown) {
        failed = thrown
      }
    }
    deps.onFault(failed)
    claim?.end()
  }
}

/** What is to be held for the request, its tokens being reserved. */
function reserveHold({ call, deps, request, targets, claim }: ChargeSessionOptions): RequestHold {
  try {
    const hold = computeHold(request, targets, { caller: call.caller, overruns: deps.overruns })
    call.allowance.reserve(hold.likelyTokens)
    return hold
  } catch (thrown) {
    claim?.end()
    throw thrown
  }
}

function sentAnswer({ contentType, bytes, cutShort }: NonNullable<DeliveredAnswer["last"]>): SentAnswer {
  const last = bytes?.()
  return { status: 200, contentType, ...(last && { last }), ...(cutShort && { cutShort }) }
}

function priceUsage(spent: MeasuredUsage, { pricing, model }: Pick<Target, "pricing" | "model">): bigint {
  const chargeNano = pricing && chargeOf(spent, pricing)
  if (chargeNano === undefined) throw new Error(`${model.id} was called without a price`)
  return chargeNano
}

/** Waits a limited time for the count, then estimates from the text's length. */
function withPatience(counting: TokenCounting, patienceMs: number): TokenCounting {
  return {
    count: (task) =>
      Promise.race([counting.count(task), setTimeout(patienceMs, estimateByLength(task.text), { ref: false })]),
  }
}

const CHARACTERS_PER_TOKEN = 4

function estimateByLength(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN)
}

function isStoreFault(thrown: unknown): boolean {
  return thrown instanceof GatewayError && thrown.code === "store_unavailable"
}

/** All that was put out: reasoning counts towards a limit too. */
function outputIn({ output = 0, reasoning = 0 }: Usage): number {
  return output + reasoning
}

function outspentError(): GatewayError {
  const message = "The balance or budget ran out while streaming; the response was stopped here. Top up and retry."
  return new GatewayError("insufficient_balance", message)
}
