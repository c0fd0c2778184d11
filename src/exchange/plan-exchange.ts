// Plans an exchange: admits its models, and finds the targets to try or the reason why there are none.
import { GatewayError } from "../canonical/gateway-error.ts"
import type { CatalogModel } from "../catalog/catalog.ts"
import { inputBound } from "../counting/input-bound.ts"
import type { RequestSummary } from "../protocols/contract.ts"
import type { ExcludedTarget } from "../routing/candidate-set.ts"
import type { RequestFacts } from "../routing/plan-input.ts"
import { planRoute, type RoutePlan, type RoutingTable } from "../routing/route-plan.ts"
import { admitModels } from "./admit-models.ts"
import type { ResumedRequest } from "./conversations/resume-conversation.ts"
import type { ExchangeContext } from "./exchange-context.ts"
import type { ExchangeDeps } from "./exchange-deps.ts"
import { LostParameters } from "./explain/lost-parameters.ts"
import type { ReadRequest } from "./read-request.ts"
import { sessionKeyOf } from "./session-key.ts"

/** A request with the conversation that it continues. */
export interface ResumedExchange extends ExchangeContext {
  readonly resumed: ResumedRequest
}

/** The targets of a request, or the reason why there are none. */
export interface ExchangePlan {
  readonly route: RoutePlan
  /** The models that the caller names, the requested one first. */
  readonly models: readonly CatalogModel[]
  readonly lost: LostParameters | undefined
  /** The conversation's key, if there is a choice of targets. */
  readonly session: string | undefined
  /** True if the plan is the response. */
  readonly isExplained: boolean
  /** The error if there is no target. */
  readonly refusal: GatewayError | undefined
}

export function planExchange(exchange: ResumedExchange): ExchangePlan | Promise<ExchangePlan> {
  const { call, table, request } = exchange
  const { routing, counts } = request.reading
  const models = admitModels(call, request.reading, table)
  refuseUnsupportedWishes(request.reading)
  if (!routing.requireParameters || counts) return planTargets(exchange, models, undefined)
  return LostParameters.find(models, exchange).then((lost) => planTargets(exchange, models, lost))
}

function planTargets(
  exchange: ResumedExchange,
  models: readonly CatalogModel[],
  lost: LostParameters | undefined,
): ExchangePlan {
  const { call, deps, table, request, resumed } = exchange
  const { routing } = request.reading
  const session = hasChoice(models, table) ? findSession(exchange) : undefined
  const route = planRoute(models, {
    protocol: call.protocol.id,
    table,
    rotation: rotationTurn(models, deps, routing.explain),
    translates: true,
    routingOptions: routing,
    facts: toRequestFacts(request),
    losesParameters: lost && ((target) => lost.isLosing(target)),
    health: deps.health.snapshot(),
    chance: routing.explain ? undefined : deps.chance(),
    home: (session === undefined ? undefined : deps.affinity.homeOf(session)) ?? resumed.home,
  })
  const { attempts, excluded } = route
  const refusal =
    attempts.length === 0 ? allExcludedError(models, { excluded, lost, modelsPath: call.modelsPath }) : undefined
  const isExplained = routing.explain === true && attempts.length + excluded.length > 0
  return { route, models, lost, session, isExplained, refusal }
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

function findSession({ call, request }: ResumedExchange): string | undefined {
  if (request.reading.counts) return undefined
  return sessionKeyOf(request, { keyId: call.caller.id, model: call.progress.model ?? "" })
}

/** The facts that the plan weighs, as far as the text shows them. */
function toRequestFacts({ text, reading: { stream, outputLimits } }: ReadRequest): RequestFacts {
  return {
    stream,
    get inputTokens() {
      return inputBound(text)
    },
    maxOutputTokens: outputLimits.maxOutputTokens,
    candidates: outputLimits.candidates,
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
