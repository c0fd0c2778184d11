// What would become of a request, told in its place: who would be tried in which order and who not, what each would be
// sent, and what it would cost. Nobody is called, and nothing is held, charged or kept.

import type { GatewayError } from "../canonical/error.ts"
import type { JsonObject } from "../canonical/json.ts"
import type { RoutingWishes } from "../canonical/request.ts"
import type { Model } from "../catalog/catalog.ts"
import type { Excluded, Exclusion } from "../routing/candidates.ts"
import type { Plan, Planned, RoutingTable } from "../routing/plan.ts"
import type { ClientAnswer } from "./client-answer.ts"
import { explainAttempt } from "./explain-attempt.ts"
import { explainMoney } from "./explain-money.ts"
import { holdFor } from "./hold.ts"
import type { LostParameters } from "./lost-parameters.ts"
import { answerOf } from "./record.ts"
import { type Occasion, UnsayableError } from "./translate-lane.ts"

interface Asking extends Occasion {
  readonly table: RoutingTable
  /** What the caller names, the requested one first. */
  readonly models: readonly Model[]
  readonly lost: LostParameters | undefined
  /** What the request would be refused with, where the plan leaves nobody. */
  readonly refusal: GatewayError | undefined
}

/** What became of one attempt: it would be made, or it cannot be told the request. */
type Sorted = { readonly shown: JsonObject } | { readonly excluded: JsonObject; readonly error: GatewayError }

/** The same document in every protocol, streamed or not. Throws where the request has no price, as the request would. */
export async function explain(plan: Plan, asking: Asking): Promise<ClientAnswer> {
  const { call } = asking
  const document = await explanation(plan, asking)
  call.finish()
  return answerOf(call.record, JSON.stringify(document), "application/json")
}

async function explanation(plan: Plan, asking: Asking): Promise<JsonObject> {
  const { call, house, request, models, table, lost } = asking
  const { reading } = request
  const hold =
    house.ledger && plan.attempts.length > 0
      ? holdFor(request, plan.attempts, { caller: call.caller, overruns: house.overruns })
      : undefined
  const priced = hold ? plan.attempts.filter((each) => hold.targets.includes(each)) : plan.attempts
  const unpriced = plan.attempts.filter((each) => !priced.includes(each))
  const sorted: Sorted[] = []
  for (const each of priced) sorted.push(await sort(each, { plan, asking }))
  const attempts = sorted.flatMap((each) => ("shown" in each ? [each.shown] : []))
  const untold = sorted.flatMap((each) => ("excluded" in each ? [each] : []))
  const money = explainMoney(hold, { caller: call.caller, ledger: house.ledger, request })
  const refusal = asking.refusal ?? money.refusal ?? (attempts.length === 0 ? untold[0]?.error : undefined)
  return {
    object: "explanation",
    requested_model: reading.model,
    model: models[0]?.id ?? null,
    ...(call.record.mappedModels && { mapped: call.record.mappedModels.map((each) => ({ ...each })) }),
    protocol: call.protocol.id,
    stream: reading.stream,
    strategy: reading.routing.strategy ?? models[0]?.routing ?? table.strategy ?? null,
    attempts,
    excluded: [
      ...plan.excluded.map((each) => shownExcluded(each, lost)),
      ...unpriced.map((each) => ({ ...placeOf(each), why: "unpriced", reason: "It has no price." })),
      ...untold.map(({ excluded }) => excluded),
    ],
    refusal: refusal ? { code: refusal.code, message: refusal.message } : null,
    money: money.shown,
    wishes: shownWishes(reading.routing, call.caller.strict),
  }
}

async function sort(attempt: Planned, { plan, asking }: { plan: Plan; asking: Asking }): Promise<Sorted> {
  const { call, house, request } = asking
  try {
    const scores = plan.scoresOf(attempt)
    return { shown: await explainAttempt(attempt, { scores, occasion: { call, house, request } }) }
  } catch (thrown) {
    if (!(thrown instanceof UnsayableError)) throw thrown
    const { error } = thrown
    return { excluded: { ...placeOf(attempt), why: error.code, reason: error.message }, error }
  }
}

function placeOf({ model, account, upstreamModel }: Planned) {
  return { model: model.id, provider: account.id, upstream_model: upstreamModel }
}

const REASONS: Readonly<Record<Exclusion, string>> = {
  only: "`provider.only` does not name it.",
  ignore: "`provider.ignore` names it.",
  max_price: "It costs more than `provider.max_price`, or has no price.",
  require_parameters: "It could not be told all parameters of the request",
  enough: "Enough others are tried.",
  hanging: "It has let others wait too long.",
  failing: "It fails.",
  limited: "It limits the gateway, which waits.",
  "day-quota": "The gateway's quota of the day is used up there.",
  "spend-cap": "The gateway's account has no credit left there.",
  credential: "It does not take the gateway's credential.",
}

function shownExcluded(excluded: Excluded, lost: LostParameters | undefined): JsonObject {
  const { model, provider, upstreamModel: upstream_model, why } = excluded
  const parameters = why === "require_parameters" ? (lost?.at(excluded) ?? []) : []
  const named = parameters.map((path) => `\`${path}\``).join(", ")
  const reason = named === "" ? REASONS[why] : `${REASONS[why]}: ${named}.`
  return { model, provider, upstream_model, why, reason }
}

function shownWishes(wishes: RoutingWishes, isStrictKey: boolean): JsonObject {
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
