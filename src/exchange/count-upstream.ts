// Gets a token count from an upstream, with the client's own bytes or translated to another protocol. Only one upstream
// is called, with a short timeout: a late, rejected or invalid count is ignored.

import { mayHoldSeal } from "../canonical/chat/sealed-content.ts"
import { GatewayError } from "../canonical/gateway-error.ts"
import { isObject } from "../canonical/json.ts"
import type { TokenCountCodec } from "../protocols/chat-codec.ts"
import type { ProtocolEndpoint } from "../providers/contract.ts"
import type { Target } from "../routing/route-plan.ts"
import { toSendError, type UpstreamRequest } from "../transport/http-client.ts"
import { decodeUtf8, fromByteText, toByteText } from "../transport/json/byte-text.ts"
import { spliceJson } from "../transport/json/json-splice.ts"
import { readAll } from "../transport/read-all.ts"
import { ResendAllowance } from "../transport/resend-allowance.ts"
import type { AttemptFacts } from "./attempt/attempt-log.ts"
import { asUpstreamError } from "./attempt/attempt-targets.ts"
import { upstreamError } from "./attempt/call-upstream.ts"
import { ClientGoneError } from "./client-gone-error.ts"
import type { ExchangeContext } from "./exchange-context.ts"
import type { Attempt } from "./lanes/lane.ts"
import { relayLane } from "./lanes/relay-lane.ts"
import { translateLane, UntranslatableError } from "./lanes/translate-lane.ts"

const PATIENCE_MS = 2000
const MAX_ANSWER_BYTES = 64 * 1024
/** What is longer would hold up the event loop for too long when it is put as a question. */
const MAX_TRANSLATED_BYTES = 8 * 1024 * 1024

type CountBody = string | Uint8Array<ArrayBuffer>

/** A target and a protocol that has a token counter. */
interface CountTarget {
  readonly target: Target
  readonly counter: TokenCountCodec
  readonly isRelayed: boolean
}

interface CountAttempt extends ExchangeContext {
  readonly facts: AttemptFacts
}

interface CountContext extends ExchangeContext {
  /** When a count is too late. */
  readonly until: number
  readonly resends: ResendAllowance
}

/** The upstream request, and the reader of its response. */
interface CountRequest extends Pick<UpstreamRequest, "url" | "headers" | "body"> {
  readonly attempt: Attempt
  /** Undefined if it is not a count. */
  read(bytes: Uint8Array): CountBody | undefined
}

/** The count for the client; undefined if no target has a counter, or its response was not usable. */
export async function requestUpstreamCount(
  targets: readonly Target[],
  context: ExchangeContext,
): Promise<CountBody | undefined> {
  const hurried = { ...context, until: performance.now() + PATIENCE_MS, resends: new ResendAllowance() }
  for (let counter = findCounter(targets, context); counter; counter = findCounter(targets, context)) {
    const { endpoint, upstreamModel } = counter.target
    const counted = await tryCount(counter, hurried)
    // If this target turns out to have no counter, another may have one.
    if (counted !== undefined || !hasNoCounter(endpoint, upstreamModel)) return counted
  }
  return undefined
}

async function tryCount(counter: CountTarget, context: CountContext): Promise<CountBody | undefined> {
  const { call, deps } = context
  const facts = call.progress.attempts.begin(counter.target)
  try {
    return await sendCountRequest(await countRequestTo(counter, { ...context, facts }), context)
  } catch (thrown) {
    if (call.isGone()) throw thrown instanceof ClientGoneError ? thrown : new ClientGoneError("", { cause: thrown })
    const error = thrown instanceof UntranslatableError ? thrown.error : asUpstreamError(thrown)
    if (error.code === "internal_error") deps.onFault(thrown)
    call.progress.attempts.noteFailed(facts, error)
    return undefined
  }
}

function findCounter(targets: readonly Target[], context: ExchangeContext): CountTarget | undefined {
  for (const target of targets) {
    const found = target.health === "out" ? undefined : counterAt(target, context)
    if (found) return found
  }
  return undefined
}

/** In the client's protocol, or else in the one the target speaks best, of those that have a counter. */
function counterAt(target: Target, { call, deps, request }: ExchangeContext): CountTarget | undefined {
  const { endpoints } = target.account
  const own = call.protocol.id
  for (const protocol of [own, ...Object.keys(endpoints).filter((id) => id !== own)]) {
    const endpoint = endpoints[protocol]
    const counter = deps.codecs.upstream.get(protocol)?.counter
    if (!endpoint || !counter || endpoint.serves?.(target.upstreamModel) === false) continue
    if (hasNoCounter(endpoint, target.upstreamModel)) continue
    // A seal in an envelope of ours is another upstream's.
    const isRelayed = protocol === own && !mayHoldSeal(request.text)
    if (!isRelayed && request.text.length > MAX_TRANSLATED_BYTES) continue
    return { target: { ...target, protocol, endpoint }, counter, isRelayed }
  }
  return undefined
}

function countRequestTo(counter: CountTarget, context: CountAttempt): CountRequest | Promise<CountRequest> {
  return counter.isRelayed ? relayedCountRequest(counter, context) : translatedCountRequest(counter, context)
}

function relayedCountRequest({ target }: CountTarget, context: CountAttempt): CountRequest {
  const { call } = context
  const attempt: Attempt = { ...context, client: call, target, lane: relayLane, chargeSession: undefined }
  const url = relayLane.url(attempt)
  const { headers, body, losses } = relayLane.message(attempt)
  context.facts.losses = losses
  return { headers, body, url, attempt, read: (bytes) => relayLane.answer(bytes, attempt)?.body }
}

async function translatedCountRequest({ target, counter }: CountTarget, context: CountAttempt): Promise<CountRequest> {
  const { call, deps } = context
  // Nothing is fetched from anywhere for the sake of a count.
  const lane = await translateLane(target, { ...context, deps: { ...deps, fetchMedia: undefined } })
  const attempt: Attempt = { ...context, client: call, target, lane, chargeSession: undefined }
  // The losses of the generating request do not matter to a count.
  const { body } = lane.message(attempt)
  const { endpoint, upstreamModel: model } = target
  const { operation, path, headers } = counter.errand(model)
  const errand = { operation, model, stream: false, usualPath: path, headers }
  const text = counter.encodeCountRequest(typeof body === "string" ? body : toByteText(body), model)
  return {
    url: endpoint.baseUrl + (endpoint.path?.(errand) ?? path),
    headers: endpoint.headersWith(headers),
    body: fromByteText(spliceJson(text, endpoint.edits?.(errand) ?? [])),
    attempt,
    read: (bytes) => encodeCount(bytes, { counter, context }),
  }
}

function encodeCount(bytes: Uint8Array, { counter, context }: { counter: TokenCountCodec; context: ExchangeContext }) {
  const answer: unknown = JSON.parse(decodeUtf8(bytes))
  const tokens = isObject(answer) ? counter.decodeCount(answer) : undefined
  const { call, deps } = context
  const encoded = tokens === undefined ? undefined : deps.codecs.ingress.get(call.protocol.id)?.encodeCount?.(tokens)
  return encoded && JSON.stringify(encoded)
}

async function sendCountRequest(
  { url, headers, body, attempt, read }: CountRequest,
  hurried: CountContext,
): Promise<CountBody> {
  const { call, deps, until, resends } = hurried
  const { endpoint, upstreamModel } = attempt.target
  const limitMs = until - performance.now()
  const running = deps.upstreamCalls.begin(call, { url, limitMs })
  try {
    const connectMs = Math.min(deps.timeouts.connectMs, limitMs)
    const { tenant: owner } = call.caller
    const response = await endpoint.send({ url, headers, body, abort: running.abort, connectMs, owner, resends })
    if (MEANS_NO_COUNTER.has(response.status)) noteNoCounter(endpoint, upstreamModel)
    if (!response.ok) throw await upstreamError(response, attempt, running)
    const count = read(await readAll(response, MAX_ANSWER_BYTES))
    if (count === undefined) throw new GatewayError("upstream_unavailable", NO_COUNT, { owner: "upstream" })
    return count
  } catch (thrown) {
    throw thrown instanceof GatewayError ? thrown : toSendError(thrown, running.abort)
  } finally {
    deps.upstreamCalls.end(running)
  }
}

const NO_COUNT = "The provider's response is not a token count."

/** Many hosts implement a protocol without its counter; they are not called again for a while. */
const MEANS_NO_COUNTER: ReadonlySet<number> = new Set([404, 405, 501])
const REMEMBERED_MS = 10 * 60_000
const MAX_REMEMBERED = 1000
const without = new WeakMap<ProtocolEndpoint, Map<string, number>>()

function noteNoCounter(endpoint: ProtocolEndpoint, model: string): void {
  const models = without.get(endpoint) ?? new Map<string, number>()
  if (models.size >= MAX_REMEMBERED) models.clear()
  models.set(model, performance.now() + REMEMBERED_MS)
  without.set(endpoint, models)
}

function hasNoCounter(endpoint: ProtocolEndpoint, model: string): boolean {
  return performance.now() < (without.get(endpoint)?.get(model) ?? 0)
}
