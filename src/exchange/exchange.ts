// The request path: an authenticated call is admitted, routed, attempted and settled.

import { createHash } from "node:crypto"
import { GatewayError } from "../canonical/gateway-error.ts"
import type { CatalogModel } from "../catalog/catalog.ts"
import { inputBound } from "../counting/input-bound.ts"
import type { RequestSummary } from "../protocols/contract.ts"
import type { ExcludedTarget } from "../routing/candidate-set.ts"
import type { RequestFacts } from "../routing/plan-input.ts"
import { planRoute, type RoutingTable } from "../routing/route-plan.ts"
import { ResendAllowance } from "../transport/resend-allowance.ts"
import { admitModels } from "./admit-models.ts"
import { answerCount } from "./answer-count.ts"
import { answerUnary, unaryDriver } from "./answer-unary.ts"
import { attemptTargets } from "./attempt/attempt-targets.ts"
import { ChargeSession } from "./charge/charge-session.ts"
import { settleUnanswered } from "./charge/settle-unanswered.ts"
import type { ClientResponse } from "./client-response.ts"
import type { ReplayedAnswer } from "./conversations/idempotency.ts"
import { keepResponse, resumeConversation } from "./conversations/resume-conversation.ts"
import type { ClientCall, ExchangeDeps } from "./exchange-deps.ts"
import { ClientGoneError, responseOf } from "./exchange-record.ts"
import { explainRequest } from "./explain/explain-request.ts"
import { LostParameters } from "./explain/lost-parameters.ts"
import { type ReadRequest, readRequest } from "./read-request.ts"
import { sessionKeyOf } from "./session-key.ts"
import { answerStreamed } from "./streams/answer-streamed.ts"

export async function runExchange(call: ClientCall, deps: ExchangeDeps): Promise<ClientResponse> {
  const table = deps.table()
  const { protocol, envelope } = call
  const { readLarge, largeRequestQueue } = deps
  const bytes = await call.readBody()
  const bodyHash = call.idempotencyKey === undefined ? undefined : hashRequest(call, bytes)
  const read = readRequest(bytes, { protocol, envelope, readLarge, largeInTurn: largeRequestQueue })
  const resuming = resumeConversation(read instanceof Promise ? await read : read, { call, deps, table })
  const resumed = resuming instanceof Promise ? await resuming : resuming
  const { request } = resumed
  call.shrinkBody()
  const models = admitModels(call, request.reading, table)
  const generates = !request.reading.counts
  const { routing } = request.reading
  refuseUnsupportedWishes(request.reading)
  const session = hasChoice(models, table) ? findSession(call, request) : undefined
  const asking = { call, deps, request, table }
  const lost = routing.requireParameters && generates ? await LostParameters.find(models, asking) : undefined
  const planned = planRoute(models, {
    ...{ protocol: protocol.id, table, rotation: rotationTurn(models, deps, routing.explain), translates: true },
    ...{
      routingOptions: routing,
      facts: toRequestFacts(request),
      losesParameters: lost && ((target) => lost.isLosing(target)),
    },
    ...{ health: deps.health.snapshot(), chance: routing.explain ? undefined : deps.chance() },
    home: (session === undefined ? undefined : deps.affinity.homeOf(session)) ?? resumed.home,
  })
  const { attempts: targets, excluded } = planned
  const refusal =
    targets.length === 0 ? allExcludedError(models, { excluded, lost, modelsPath: call.modelsPath }) : undefined
  if (routing.explain && targets.length + excluded.length > 0)
    return explainRequest(planned, { ...asking, models, lost, refusal })
  if (refusal) throw refusal
  if (!generates) return answerCount({ call, deps, request }, targets)
  const claimed = bodyHash === undefined ? undefined : claimIdempotencyKey(call, deps, bodyHash)
  if (claimed && "body" in claimed) return replayAnswer(call, claimed)
  const kept = keepResponse(resumed, { call, deps, table, targets, claim: claimed })
  const { ledger } = deps
  const { claim } = kept
  const chargeSession = ledger
    ? await ChargeSession.open({ call, deps, ledger, request: kept.request, targets, claim })
    : undefined
  const hedges = routing.hedge ?? call.caller.hedge
  const resends = new ResendAllowance()
  const attempts = {
    call,
    deps,
    ...kept,
    targets: chargeSession?.targets ?? targets,
    chargeSession,
    session,
    hedges,
    resends,
  }
  try {
    // No call for a client that left while the hold was written.
    if (call.isGone()) throw new ClientGoneError()
    if (request.reading.stream) return await answerStreamed(attempts)
    const answer = await answerUnary(await attemptTargets(attempts, unaryDriver))
    call.finish()
    return answer
  } catch (thrown) {
    await settleUnanswered(attempts, thrown)
    throw thrown
  }
}

/** Hash of the complete request, equal for a repeated request. */
function hashRequest({ record, envelope, protocol }: ClientCall, bytes: Uint8Array): string {
  const query = new URLSearchParams(envelope.query)
  if (protocol.keyParameter !== undefined) query.delete(protocol.keyParameter)
  const where = `${record.route}\n${envelope.rest}\n${query}\n`
  return createHash("sha256").update(where).update(bytes).digest("base64url")
}

function claimIdempotencyKey(
  { caller, record, idempotencyKey = "" }: ClientCall,
  { repeats }: ExchangeDeps,
  bodyHash: string,
) {
  const { id: keyId, tenant, keepAnswers: keepsAnswer } = caller
  return repeats.begin({ keyId, tenant, idempotencyKey, bodyHash, requestId: record.requestId, keepsAnswer })
}

/** The answer of the request that came first, under its id, which is its receipt's. */
function replayAnswer(call: ClientCall, { requestId, status, contentType, body }: ReplayedAnswer): ClientResponse {
  const { record } = call
  record.status = status
  call.finish()
  const answer = responseOf({ ...record, requestId }, body, contentType)
  answer.headers.set("idempotency-replayed", "true")
  answer.headers.set("cache-control", "no-cache")
  return answer
}

/** True if there is more than one possible target. */
function hasChoice([model, other]: readonly CatalogModel[], { accounts }: RoutingTable): boolean {
  if (!model || other || model.members || model.targets.length > 1) return true
  return (accounts.get(model.targets[0]?.provider ?? "")?.length ?? 0) > 1
}

/** An explained request does not advance the rotation: the next request goes where the explanation says. */
function rotationTurn([model]: readonly CatalogModel[], { rotation }: ExchangeDeps, isExplained = false): number {
  const id = model?.id ?? ""
  return isExplained ? rotation.peek(id) : rotation.next(id)
}

function findSession({ caller, record }: ClientCall, request: ReadRequest): string | undefined {
  return request.reading.counts ? undefined : sessionKeyOf(request, { keyId: caller.id, model: record.model ?? "" })
}

/** The facts that the plan weighs, as far as the text shows them. */
function toRequestFacts({ text, reading: { stream, outputLimits } }: ReadRequest): RequestFacts {
  return {
    stream,
    get inputTokens() {
      return inputBound(text)
    },
    ...outputLimits,
  }
}

/** Rejects options that would otherwise be ignored. */
function refuseUnsupportedWishes({ counts, routing: { explain: explains } }: RequestSummary): void {
  if (counts && explains)
    throw unsupportedWishError("provider.explain", "applies to generation requests, not to token counts")
}

function unsupportedWishError(param: string, why: string): GatewayError {
  return new GatewayError("unsupported_parameter", `\`${param}\` ${why}. Leave it out.`, { param })
}

interface ExclusionSummary {
  readonly excluded: readonly ExcludedTarget[]
  readonly lost: LostParameters | undefined
  readonly modelsPath: string
}

function allExcludedError(
  models: readonly CatalogModel[],
  { excluded, lost, modelsPath }: ExclusionSummary,
): GatewayError {
  if (excluded.length === 0) return notServedError(models, modelsPath)
  const reasons = excluded.map((each) => `${each.provider} (${[each.why, ...lostParametersAt(each, lost)].join(" ")})`)
  const providers = [...new Set(reasons)].join(", ")
  const message = `No provider can serve \`${models[0]?.id}\`: the request's \`provider\` options exclude all of them: ${providers}.`
  return new GatewayError("model_not_found", message, { param: "provider" })
}

/** The parameters that the target does not support. */
function lostParametersAt(excluded: ExcludedTarget, lost: LostParameters | undefined): string[] {
  return excluded.why === "require_parameters" ? (lost?.at(excluded) ?? []).map((path) => `\`${path}\``) : []
}

function notServedError([model]: readonly CatalogModel[], modelsPath: string): GatewayError {
  const message = `No configured provider serves \`${model?.id}\` over this interface. GET ${modelsPath} lists the models that can be called.`
  return new GatewayError("model_not_found", message, { param: "model" })
}
