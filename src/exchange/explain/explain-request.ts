// Explains a request instead of running it: the targets in order, the excluded ones, the upstream requests and their
// cost. No provider is called, and nothing is held, charged or stored.

import type { RoutingOptions } from "../../canonical/chat/chat-request.ts"
import type { GatewayError } from "../../canonical/gateway-error.ts"
import type { JsonObject } from "../../canonical/json.ts"
import type { ExcludedTarget, ExclusionReason } from "../../routing/candidate-set.ts"
import type { PlannedTarget, RoutePlan } from "../../routing/route-plan.ts"
import { buildResponse } from "../build-response.ts"
import { computeHold } from "../charge/request-hold.ts"
import type { ClientResponse } from "../client-response.ts"
import type { ExchangeContext } from "../exchange-context.ts"
import { UntranslatableError } from "../lanes/translate-lane.ts"
import type { ExchangePlan } from "../plan-exchange.ts"
import { ANSWERED } from "../record/exchange-record.ts"
import { explainAttempt } from "./explain-attempt.ts"
import { explainMoney } from "./explain-money.ts"
import type { LostParameters } from "./lost-parameters.ts"

/** An attempt that would be made, or is excluded because the request cannot be translated. */
type ExplainedAttempt = { readonly shown: JsonObject } | { readonly excluded: JsonObject; readonly error: GatewayError }

/** The same document in every protocol, streamed or not. Throws where the request has no price, as the request would. */
export async function explainRequest(plan: ExchangePlan, exchange: ExchangeContext): Promise<ClientResponse> {
  const { call } = exchange
  const document = await buildExplanation(plan, exchange)
  call.finish(ANSWERED)
  return buildResponse(call.progress, { body: JSON.stringify(document), contentType: "application/json" })
}

async function buildExplanation(plan: ExchangePlan, exchange: ExchangeContext): Promise<JsonObject> {
  const { call, deps, request, table } = exchange
  const { route, models, lost } = plan
  const { reading } = request
  const { mapped } = call.progress.admitted ?? {}
  const hold =
    deps.ledger && route.attempts.length > 0
      ? computeHold(request, route.attempts, { caller: call.caller, overruns: deps.overruns })
      : undefined
  const priced = hold ? route.attempts.filter((each) => hold.targets.includes(each)) : route.attempts
  const unpriced = route.attempts.filter((each) => !priced.includes(each))
  const sorted: ExplainedAttempt[] = []
  for (const each of priced) sorted.push(await explainOrExclude(each, { route, exchange }))
  const attempts = sorted.flatMap((each) => ("shown" in each ? [each.shown] : []))
  const excluded = sorted.flatMap((each) => ("excluded" in each ? [each] : []))
  const money = explainMoney(hold, { caller: call.caller, ledger: deps.ledger, request })
  const refusal = plan.refusal ?? money.refusal ?? (attempts.length === 0 ? excluded[0]?.error : undefined)
  return {
    object: "explanation",
    requested_model: reading.model,
    model: models[0]?.id ?? null,
    ...(mapped && { mapped: mapped.map((each) => ({ ...each })) }),
    protocol: call.protocol.id,
    stream: reading.stream,
    strategy: reading.routing.strategy ?? models[0]?.routing ?? table.strategy ?? null,
    attempts,
    excluded: [
      ...route.excluded.map((each) => toExcludedView(each, lost)),
      ...unpriced.map((each) => ({ ...targetFields(each), why: "unpriced", reason: "It has no price." })),
      ...excluded.map(({ excluded }) => excluded),
    ],
    refusal: refusal ? { code: refusal.code, message: refusal.message } : null,
    money: money.shown,
    wishes: toWishesView(reading.routing, call.caller.strict),
  }
}

async function explainOrExclude(
  attempt: PlannedTarget,
  { route, exchange }: { route: RoutePlan; exchange: ExchangeContext },
): Promise<ExplainedAttempt> {
  try {
    const scores = route.scoresOf(attempt)
    return { shown: await explainAttempt(attempt, { scores, context: exchange }) }
  } catch (thrown) {
    if (!(thrown instanceof UntranslatableError)) throw thrown
    const { error } = thrown
    return { excluded: { ...targetFields(attempt), why: error.code, reason: error.message }, error }
  }
}

function targetFields({ model, account, upstreamModel }: PlannedTarget) {
  return { model: model.id, provider: account.id, upstream_model: upstreamModel }
}

const REASONS: Readonly<Record<ExclusionReason, string>> = {
  only: "`provider.only` does not name it.",
  ignore: "`provider.ignore` names it.",
  max_price: "It costs more than `provider.max_price`, or has no price.",
  require_parameters: "It does not support all parameters of the request",
  enough: "Enough other targets come before it.",
  hanging: "Recent requests to it are hanging.",
  failing: "Recent requests to it failed.",
  limited: "It rate-limits the gateway, which is backing off.",
  "day-quota": "The gateway's daily quota at this provider is used up.",
  "spend-cap": "The gateway's account at this provider has no credit left.",
  credential: "It rejects the gateway's credential.",
}

function toExcludedView(excluded: ExcludedTarget, lost: LostParameters | undefined): JsonObject {
  const { model, provider, upstreamModel: upstream_model, why } = excluded
  const parameters = why === "require_parameters" ? (lost?.at(excluded) ?? []) : []
  const named = parameters.map((path) => `\`${path}\``).join(", ")
  const reason = named === "" ? REASONS[why] : `${REASONS[why]}: ${named}.`
  return { model, provider, upstream_model, why, reason }
}

function toWishesView(wishes: RoutingOptions, isStrictKey: boolean): JsonObject {
  const { strategy, fallback, strict, order, only, ignore, maxPrice, requireParameters, hedge, report } = wishes
  return {
    ...(strategy && { routing: strategy }),
    fallback,
    ...((strict || isStrictKey) && { strict: true }),
    ...(order && { order }),
    ...(only && { only }),
    ...(ignore && { ignore }),
    ...(maxPrice && { max_price: { ...maxPrice } }),
    ...(requireParameters && { require_parameters: true }),
    ...(hedge && { hedge: true }),
    ...(report && { report: true }),
  }
}
