// The story of one call. The door has authenticated the caller; here it is admitted, routed, attempted and settled.

import { createHash } from "node:crypto"
import { GatewayError } from "../canonical/error.ts"
import type { Model } from "../catalog/catalog.ts"
import { inputBound } from "../counting/input-bound.ts"
import type { Reading } from "../protocols/contract.ts"
import type { Excluded } from "../routing/candidates.ts"
import type { RequestFacts } from "../routing/occasion.ts"
import { plan, type RoutingTable } from "../routing/plan.ts"
import { ResendAllowance } from "../transport/resend-allowance.ts"
import { admitModels } from "./admit-models.ts"
import { attempt } from "./attempt.ts"
import { Bill } from "./bill.ts"
import type { Call, House } from "./call.ts"
import type { ClientAnswer } from "./client-answer.ts"
import { answerCount } from "./count.ts"
import { explain } from "./explain.ts"
import { keep, resume } from "./kept-conversation.ts"
import { LostParameters } from "./lost-parameters.ts"
import { answerOf, ClientGoneError } from "./record.ts"
import type { KeptAnswer } from "./repeats.ts"
import { type ReadRequest, readRequest } from "./request.ts"
import { sessionOf } from "./session.ts"
import { answerStreamed } from "./streamed.ts"
import { settleUnanswered } from "./unanswered.ts"
import { answerUnary, unary } from "./unary.ts"

export async function exchange(call: Call, house: House): Promise<ClientAnswer> {
  const table = house.table()
  const { protocol, envelope } = call
  const { readLarge, largeInTurn } = house
  const bytes = await call.readBody()
  const bodyHash = call.idempotencyKey === undefined ? undefined : hashOf(call, bytes)
  const read = readRequest(bytes, { protocol, envelope, readLarge, largeInTurn })
  const resuming = resume(read instanceof Promise ? await read : read, { call, house, table })
  const resumed = resuming instanceof Promise ? await resuming : resuming
  const { request } = resumed
  call.bodyRead()
  const models = admitModels(call, request.reading, table)
  const generates = !request.reading.counts
  const { routing } = request.reading
  refuseUnready(request.reading)
  const session = hasChoice(models, table) ? sessionIn(call, request) : undefined
  const asking = { call, house, request, table }
  const lost = routing.requireParameters && generates ? await LostParameters.find(models, asking) : undefined
  const planned = plan(models, {
    ...{ protocol: protocol.id, table, turn: turnOf(models, house, routing.explain), translates: true },
    ...{ wishes: routing, facts: factsOf(request), losesParameters: lost && ((target) => lost.isLosing(target)) },
    ...{ health: house.health.view(), chance: routing.explain ? undefined : house.chance() },
    home: (session === undefined ? undefined : house.affinity.homeOf(session)) ?? resumed.home,
  })
  const { attempts: targets, excluded } = planned
  const refusal = targets.length === 0 ? nobodyLeft(models, { excluded, lost, modelsPath: call.modelsPath }) : undefined
  if (routing.explain && targets.length + excluded.length > 0)
    return explain(planned, { ...asking, models, lost, refusal })
  if (refusal) throw refusal
  if (!generates) return answerCount({ call, house, request }, targets)
  const claimed = bodyHash === undefined ? undefined : claimOf(call, house, bodyHash)
  if (claimed && "body" in claimed) return answerAgain(call, claimed)
  const told = keep(resumed, { call, house, table, targets, claim: claimed })
  const { ledger } = house
  const { claim } = told
  const bill = ledger ? await Bill.open({ call, house, ledger, request: told.request, targets, claim }) : undefined
  const hedges = routing.hedge ?? call.caller.hedge
  const resends = new ResendAllowance()
  const attempts = { call, house, ...told, targets: bill?.targets ?? targets, bill, session, hedges, resends }
  try {
    // Who left while the hold was written is not asked for.
    if (call.isGone()) throw new ClientGoneError()
    if (request.reading.stream) return await answerStreamed(attempts)
    const answer = await answerUnary(await attempt(attempts, unary))
    call.finish()
    return answer
  } catch (thrown) {
    await settleUnanswered(attempts, thrown)
    throw thrown
  }
}

/** What is asked, where, in full: of what is asked again it is the same. */
function hashOf({ record, envelope, protocol }: Call, bytes: Uint8Array): string {
  const query = new URLSearchParams(envelope.query)
  if (protocol.keyParameter !== undefined) query.delete(protocol.keyParameter)
  const where = `${record.route}\n${envelope.rest}\n${query}\n`
  return createHash("sha256").update(where).update(bytes).digest("base64url")
}

function claimOf({ caller, record, idempotencyKey = "" }: Call, { repeats }: House, bodyHash: string) {
  const { id: keyId, tenant, keepAnswers: keepsAnswer } = caller
  return repeats.begin({ keyId, tenant, idempotencyKey, bodyHash, requestId: record.requestId, keepsAnswer })
}

/** The answer of the request that came first, under its id, which is its receipt's. */
function answerAgain(call: Call, { requestId, status, contentType, body }: KeptAnswer): ClientAnswer {
  const { record } = call
  record.status = status
  call.finish()
  const answer = answerOf({ ...record, requestId }, body, contentType)
  answer.headers.set("idempotency-replayed", "true")
  answer.headers.set("cache-control", "no-cache")
  return answer
}

/** Whether there is more than one place for it to go. */
function hasChoice([model, other]: readonly Model[], { accounts }: RoutingTable): boolean {
  if (!model || other || model.members || model.targets.length > 1) return true
  return (accounts.get(model.targets[0]?.provider ?? "")?.length ?? 0) > 1
}

/** What is only explained is not counted: the next request goes where the explanation says. */
function turnOf([model]: readonly Model[], { turns }: House, isExplained = false): number {
  const id = model?.id ?? ""
  return isExplained ? turns.peek(id) : turns.next(id)
}

function sessionIn({ caller, record }: Call, request: ReadRequest): string | undefined {
  return request.reading.counts ? undefined : sessionOf(request, { keyId: caller.id, model: record.model ?? "" })
}

/** What the plan weighs, as far as the text tells. */
function factsOf({ text, reading: { stream, asks } }: ReadRequest): RequestFacts {
  return {
    stream,
    get inputTokens() {
      return inputBound(text)
    },
    ...asks,
  }
}

/** Wishes that nobody acts on are better refused than passed over. */
function refuseUnready({ counts, routing: { explain: explains } }: Reading): void {
  if (counts && explains) throw unready("provider.explain", "explains requests that generate, and not counts")
}

function unready(param: string, why: string): GatewayError {
  return new GatewayError("unsupported_parameter", `\`${param}\` ${why}. Leave it out.`, { param })
}

interface RuledOut {
  readonly excluded: readonly Excluded[]
  readonly lost: LostParameters | undefined
  readonly modelsPath: string
}

function nobodyLeft(models: readonly Model[], { excluded, lost, modelsPath }: RuledOut): GatewayError {
  if (excluded.length === 0) return notServed(models, modelsPath)
  const told = excluded.map((each) => `${each.provider} (${[each.why, ...lostBy(each, lost)].join(" ")})`)
  const who = [...new Set(told)].join(", ")
  const message = `Nobody is left to ask for \`${models[0]?.id}\`. Ruled out by \`provider\`: ${who}.`
  return new GatewayError("model_not_found", message, { param: "provider" })
}

/** What of the request it would not be told. */
function lostBy(excluded: Excluded, lost: LostParameters | undefined): string[] {
  return excluded.why === "require_parameters" ? (lost?.at(excluded) ?? []).map((path) => `\`${path}\``) : []
}

function notServed([model]: readonly Model[], modelsPath: string): GatewayError {
  const message = `No configured provider serves \`${model?.id}\` over this interface. GET ${modelsPath} lists what can be called.`
  return new GatewayError("model_not_found", message, { param: "model" })
}
