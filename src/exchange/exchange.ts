// The story of one call. The door has authenticated the caller; here it is admitted, routed, attempted and settled.
import { createHash } from "node:crypto"
import { allowsModel } from "../accounts/scope.ts"
import { excerpt, GatewayError } from "../canonical/error.ts"
import type { RoutingWishes } from "../canonical/request.ts"
import type { Catalog, Model } from "../catalog/catalog.ts"
import { inputBound } from "../counting/input-bound.ts"
import { KINDS } from "../protocols/contract.ts"
import type { Excluded } from "../routing/candidates.ts"
import type { RequestFacts } from "../routing/occasion.ts"
import { plan } from "../routing/plan.ts"
import { attempt } from "./attempt.ts"
import { Bill, type BillOptions } from "./bill.ts"
import type { Call, House } from "./call.ts"
import { answerOf } from "./record.ts"
import type { KeptAnswer } from "./repeats.ts"
import { type ReadRequest, readRequest } from "./request.ts"
import { answerStreamed } from "./streamed.ts"
import { settleUnanswered } from "./unanswered.ts"
import { answerUnary } from "./unary.ts"

/** Which account of a provider comes first is nobody's concern but the accounts', so one count serves all requests. */
let turn = 0

export async function exchange(call: Call, house: House): Promise<Response> {
  const table = house.table()
  const { protocol, envelope } = call
  const { readLarge, largeInTurn } = house
  const bytes = await call.readBody()
  const bodyHash = call.idempotencyKey === undefined ? undefined : hashOf(call, bytes)
  const read = readRequest(bytes, { protocol, envelope, readLarge, largeInTurn })
  const request = read instanceof Promise ? await read : read
  call.bodyRead()
  const models = admit(call, request, table.catalog)
  const generates = !request.reading.counts
  refuseUnready(request.reading.routing)
  const { attempts: targets, excluded } = plan(models, {
    ...{ protocol: protocol.id, table, turn: turn++, translates: generates },
    ...{ wishes: request.reading.routing, facts: factsOf(request) },
  })
  if (targets.length === 0) throw excluded.length > 0 ? ruledOut(models, excluded) : notServed(models)
  const claim = generates && bodyHash !== undefined ? claimOf(call, house, bodyHash) : undefined
  if (claim && "body" in claim) return answerAgain(call, claim)
  const { ledger } = house
  const bill = generates && ledger ? await openBill({ call, house, ledger, request, targets, claim }) : undefined
  const attempts = { call, house, request, targets: bill?.targets ?? targets, bill }
  try {
    if (request.reading.stream) return await answerStreamed(attempts)
    const answer = await attempt(attempts, answerUnary)
    call.finish()
    return answer
  } catch (thrown) {
    await settleUnanswered(attempts, thrown)
    throw thrown
  }
}

async function openBill(options: BillOptions): Promise<Bill> {
  try {
    return await Bill.open(options)
  } catch (thrown) {
    options.claim?.end()
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
  const { id: keyId, keepAnswers: keepsAnswer } = caller
  return repeats.begin({ keyId, idempotencyKey, bodyHash, requestId: record.requestId, keepsAnswer })
}

/** The answer of the request that came first, under its id, which is its receipt's. */
function answerAgain(call: Call, { requestId, status, contentType, body }: KeptAnswer): Response {
  const { record } = call
  record.status = status
  call.finish()
  const answer = answerOf({ ...record, requestId }, body, contentType)
  answer.headers.set("idempotency-replayed", "true")
  answer.headers.set("cache-control", "no-cache")
  return answer
}

/** The models the caller names, the requested one first, each known and within the key's scope. */
function admit(call: Call, { reading }: ReadRequest, catalog: Catalog): Model[] {
  const find = (name: string, param: string): Model => {
    const model = catalog.find(name)
    if (!model) throw unknownModel(name, param)
    if (!allowsModel(call.caller.models, model.id)) {
      throw new GatewayError("model_not_allowed", `This API key may not call \`${model.id}\`.`, { param })
    }
    if (model.kind !== KINDS[call.protocol.id]) throw otherKind(model, param)
    return model
  }
  const first = find(reading.model, "model")
  call.record.model = first.id
  call.record.stream = reading.stream
  const { fallback } = reading.routing
  if (fallback.length === 0) return [first]
  return [...new Set([first, ...fallback.map((name, index) => find(name, `provider.fallback[${index}]`))])]
}

function unknownModel(name: string, param: string): GatewayError {
  const message = `There is no model \`${excerpt(name)}\`. GET /v1/models lists those this key can call.`
  return new GatewayError("model_not_found", message, { param })
}

const ENDPOINTS: Readonly<Record<Model["kind"], string>> = {
  chat: "a chat model: call it with messages",
  embedding: "an embedding model: call it at /v1/embeddings",
  image: "an image model: call it at /v1/images/generations",
}

function otherKind({ id, kind }: Model, param: string): GatewayError {
  return new GatewayError("invalid_parameter", `\`${id}\` is ${ENDPOINTS[kind]}.`, { param })
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

/** Wishes that nobody acts on yet are better refused than passed over. */
function refuseUnready({ requireParameters, hedge, explain, report }: RoutingWishes): void {
  const wished = { require_parameters: requireParameters, hedge, explain, report }
  const name = Object.entries(wished).find(([, value]) => value)?.[0]
  if (name === undefined) return
  const param = `provider.${name}`
  throw new GatewayError("unsupported_parameter", `\`${param}\` is not acted on yet. Leave it out.`, { param })
}

function ruledOut([model]: readonly Model[], excluded: readonly Excluded[]): GatewayError {
  const told = [...new Set(excluded.map(({ provider, why }) => `${provider} (${why})`))].join(", ")
  const message = `Nobody is left to ask for \`${model?.id}\`. Ruled out by \`provider\`: ${told}.`
  return new GatewayError("model_not_found", message, { param: "provider" })
}

function notServed([model]: readonly Model[]): GatewayError {
  const message = `No configured provider serves \`${model?.id}\`. GET /v1/models lists what can be called.`
  return new GatewayError("model_not_found", message, { param: "model" })
}
