// The request path: an authenticated call is admitted, routed, attempted and settled.

import { createHash } from "node:crypto"
import { ResendAllowance } from "../transport/resend-allowance.ts"
import { answerCount } from "./answer-count.ts"
import { answerUnary, unaryDriver } from "./answer-unary.ts"
import { attemptTargets } from "./attempt/attempt-targets.ts"
import { buildResponse } from "./build-response.ts"
import { ChargeSession } from "./charge/charge-session.ts"
import { settleUnanswered } from "./charge/settle-unanswered.ts"
import { ClientGoneError } from "./client-gone-error.ts"
import type { ClientResponse } from "./client-response.ts"
import type { IdempotencyClaim, ReplayedAnswer } from "./conversations/idempotency.ts"
import { keepResponse, resumeConversation } from "./conversations/resume-conversation.ts"
import type { ClientCall, ExchangeDeps } from "./exchange-deps.ts"
import { explainRequest } from "./explain/explain-request.ts"
import { type ExchangePlan, planExchange, type ResumedExchange } from "./plan-exchange.ts"
import { readRequest } from "./read-request.ts"
import { ANSWERED } from "./record/exchange-record.ts"
import type { ReservedExchange } from "./reserved-exchange.ts"
import { answerStreamed } from "./streams/answer-streamed.ts"

/** authenticate (by the listener) → read → resume → plan → reserve → attempt → settle */
export async function runExchange(call: ClientCall, deps: ExchangeDeps): Promise<ClientResponse> {
  // Most requests are read and planned at once; an await for them would cost more than both.
  const reading = readExchange(call, deps)
  const exchange = reading instanceof Promise ? await reading : reading
  const planning = planExchange(exchange)
  const plan = planning instanceof Promise ? await planning : planning
  if (plan.isExplained) return explainRequest(plan, exchange)
  if (plan.refusal) throw plan.refusal
  if (exchange.request.reading.counts) return answerCount(exchange, plan.route.attempts)
  const claim = claimIdempotencyKey(exchange)
  if (claim && "body" in claim) return replayAnswer(call, claim)
  const reserved = await reserveFunds(exchange, plan, claim)
  try {
    // No call for a client that left while the hold was written.
    if (call.isGone()) throw new ClientGoneError()
    if (reserved.request.reading.stream) return await answerStreamed(reserved)
    const response = await answerUnary(await attemptTargets(reserved, unaryDriver))
    call.finish(ANSWERED)
    return response
  } catch (thrown) {
    await settleUnanswered(reserved, thrown)
    throw thrown
  }
}

interface ReadExchange extends ResumedExchange {
  /** Absent without an idempotency key. */
  readonly bodyHash: string | undefined
}

function readExchange(call: ClientCall, deps: ExchangeDeps): ReadExchange | Promise<ReadExchange> {
  const { protocol, envelope, progress } = call
  const { readLarge, largeRequestQueue: largeInTurn } = deps
  const table = deps.table()
  return whenThere(call.readBody(), (bytes) => {
    const bodyHash = call.idempotencyKey === undefined ? undefined : hashRequest(call, bytes)
    return whenThere(readRequest(bytes, { protocol, envelope, readLarge, largeInTurn }), (own) =>
      whenThere(resumeConversation(own, { call, deps, table }), (resumed) => {
        call.shrinkBody()
        progress.readAt = performance.now()
        return { call, deps, table, request: resumed.request, resumed, bodyHash }
      }),
    )
  })
}

/** Runs the next step at once if the value is there, and otherwise when its promise resolves. */
function whenThere<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Holds what the request may cost, and begins to store its response if it is to be stored. */
async function reserveFunds(
  exchange: ReadExchange,
  { route: { attempts: targets }, session }: ExchangePlan,
  idempotencyClaim: IdempotencyClaim | undefined,
): Promise<ReservedExchange> {
  const { call, deps, table, resumed } = exchange
  const { ledger } = deps
  const { request, claim } = keepResponse(resumed, { call, deps, table, targets, claim: idempotencyClaim })
  const chargeSession = ledger && (await ChargeSession.open({ call, deps, table, ledger, request, targets, claim }))
  const { progress } = call
  progress.charge = chargeSession
  progress.heldAt = performance.now()
  const hedges = request.reading.routing.hedge ?? call.caller.hedge
  const resends = new ResendAllowance()
  const priced = chargeSession?.targets ?? targets
  return { call, deps, table, request, targets: priced, chargeSession, session, hedges, resends }
}

/** Hash of the complete request, equal for a repeated request. */
function hashRequest({ progress, envelope, protocol }: ClientCall, bytes: Uint8Array): string {
  const query = new URLSearchParams(envelope.query)
  if (protocol.keyParameter !== undefined) query.delete(protocol.keyParameter)
  const where = `${progress.arrival.route}\n${envelope.rest}\n${query}\n`
  return createHash("sha256").update(where).update(bytes).digest("base64url")
}

function claimIdempotencyKey({ call, deps, bodyHash }: ReadExchange): IdempotencyClaim | ReplayedAnswer | undefined {
  if (bodyHash === undefined) return undefined
  const { caller, progress, idempotencyKey = "" } = call
  const { id: keyId, tenant, keepAnswers: keepsAnswer } = caller
  return deps.repeats.begin({ keyId, tenant, idempotencyKey, bodyHash, requestId: progress.requestId, keepsAnswer })
}

/** The answer of the request that came first, under its id, which is its receipt's. */
function replayAnswer(call: ClientCall, { requestId, status, contentType, body }: ReplayedAnswer): ClientResponse {
  call.finish({ ...ANSWERED, status })
  const answer = buildResponse(call.progress, { body, contentType, status, requestId })
  answer.headers.set("idempotency-replayed", "true")
  answer.headers.set("cache-control", "no-cache")
  return answer
}
