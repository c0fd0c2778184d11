// Asks an upstream how many tokens a request has, in the client's own bytes or said again in another protocol. One is
// asked, and briefly: a count that is late, refused or no count is none.
import { GatewayError } from "../canonical/error.ts"
import { isObject } from "../canonical/json.ts"
import { mayHoldSeal } from "../canonical/sealed.ts"
import type { Counter } from "../protocols/codec.ts"
import type { Line } from "../providers/contract.ts"
import type { Target } from "../routing/plan.ts"
import { decodeUtf8, fromByteText, toByteText } from "../transport/byte-text.ts"
import { failure, type Outgoing } from "../transport/http-client.ts"
import { splice } from "../transport/json-splice.ts"
import { readAll } from "../transport/read-all.ts"
import { ResendAllowance } from "../transport/resend-allowance.ts"
import { asUpstreamError } from "./attempt.ts"
import type { Attempt } from "./lane.ts"
import { ClientGoneError, noteAttempt, noteFailedAttempt } from "./record.ts"
import { relayLane } from "./relay-lane.ts"
import { type Occasion, translateLane, UnsayableError } from "./translate-lane.ts"
import { upstreamError } from "./upstream.ts"

const PATIENCE_MS = 2000
const MAX_ANSWER_BYTES = 64 * 1024
/** What is longer would hold up the event loop for too long when it is put as a question. */
const MAX_SAID_AGAIN = 8 * 1024 * 1024

type Body = string | Uint8Array<ArrayBuffer>

/** A target in a protocol in which it may be asked. */
interface Asked {
  readonly target: Target
  readonly counter: Counter
  readonly isRelayed: boolean
}

interface Hurried extends Occasion {
  /** When a count is too late. */
  readonly until: number
  readonly resends: ResendAllowance
}

/** What an upstream is sent, and what is told of its answer. */
interface Question extends Pick<Outgoing, "url" | "headers" | "body"> {
  readonly attempt: Attempt
  /** Undefined where it is no count. */
  read(bytes: Uint8Array): Body | undefined
}

/** What the client is to read; undefined where none of these targets can be asked, or the one that was did not answer. */
export async function upstreamCount(targets: readonly Target[], occasion: Occasion): Promise<Body | undefined> {
  const hurried = { ...occasion, until: performance.now() + PATIENCE_MS, resends: new ResendAllowance() }
  for (let asked = counterAmong(targets, occasion); asked; asked = counterAmong(targets, occasion)) {
    const { line, upstreamModel } = asked.target
    const told = await askOnce(asked, hurried)
    // One that turns out to have no counter was not asked for nothing: there may be another.
    if (told !== undefined || !isWithout(line, upstreamModel)) return told
  }
  return undefined
}

async function askOnce(asked: Asked, occasion: Hurried): Promise<Body | undefined> {
  const { call, house } = occasion
  noteAttempt(call.record, asked.target)
  try {
    return await ask(await questionTo(asked, occasion), occasion)
  } catch (thrown) {
    if (call.isGone()) throw thrown instanceof ClientGoneError ? thrown : new ClientGoneError("", { cause: thrown })
    const error = thrown instanceof UnsayableError ? thrown.error : asUpstreamError(thrown)
    if (error.code === "internal_error") house.onFault(thrown)
    const { attemptStartedAt: startedAt } = call.record
    noteFailedAttempt(call.record, { target: asked.target, startedAt, error })
    return undefined
  }
}

function counterAmong(targets: readonly Target[], occasion: Occasion): Asked | undefined {
  for (const target of targets) {
    const found = target.health === "out" ? undefined : counterAt(target, occasion)
    if (found) return found
  }
  return undefined
}

/** In the client's protocol, or else in the one the target speaks best, of those that have a counter. */
function counterAt(target: Target, { call, house, request }: Occasion): Asked | undefined {
  const { lines } = target.account
  const own = call.protocol.id
  for (const protocol of [own, ...Object.keys(lines).filter((id) => id !== own)]) {
    const line = lines[protocol]
    const counter = house.codecs.upstream.get(protocol)?.counter
    if (!line || !counter || line.serves?.(target.upstreamModel) === false) continue
    if (isWithout(line, target.upstreamModel)) continue
    // A seal in an envelope of ours is another upstream's.
    const isRelayed = protocol === own && !mayHoldSeal(request.text)
    if (!isRelayed && request.text.length > MAX_SAID_AGAIN) continue
    return { target: { ...target, protocol, line }, counter, isRelayed }
  }
  return undefined
}

function questionTo(asked: Asked, occasion: Occasion): Question | Promise<Question> {
  return asked.isRelayed ? relayed(asked, occasion) : translated(asked, occasion)
}

function relayed({ target }: Asked, occasion: Occasion): Question {
  const attempt: Attempt = { ...occasion, target, lane: relayLane, bill: undefined }
  const url = relayLane.url(attempt)
  return { ...relayLane.message(attempt), url, attempt, read: (bytes) => relayLane.answer(bytes, attempt)?.body }
}

async function translated({ target, counter }: Asked, occasion: Occasion): Promise<Question> {
  const { call, house } = occasion
  // Nothing is fetched from anywhere for the sake of a count.
  const lane = await translateLane(target, { ...occasion, house: { ...house, fetchMedia: undefined } })
  const attempt: Attempt = { ...occasion, target, lane, bill: undefined }
  const { body } = lane.message(attempt)
  // A lane notes what it could not say for the answer's header, and this is no answer to it.
  call.record.losses = undefined
  const { line, upstreamModel: model } = target
  const { operation, path, headers } = counter.errand(model)
  const errand = { operation, model, stream: false, usualPath: path, headers }
  const text = counter.ask(typeof body === "string" ? body : toByteText(body), model)
  return {
    url: line.baseUrl + (line.path?.(errand) ?? path),
    headers: line.headersWith(headers),
    body: fromByteText(splice(text, line.edits?.(errand) ?? [])),
    attempt,
    read: (bytes) => encodedAgain(bytes, { counter, occasion }),
  }
}

function encodedAgain(bytes: Uint8Array, { counter, occasion }: { counter: Counter; occasion: Occasion }) {
  const answer: unknown = JSON.parse(decodeUtf8(bytes))
  const tokens = isObject(answer) ? counter.decodeCount(answer) : undefined
  const { call, house } = occasion
  const told = tokens === undefined ? undefined : house.codecs.ingress.get(call.protocol.id)?.encodeCount?.(tokens)
  return told && JSON.stringify(told)
}

async function ask({ url, headers, body, attempt, read }: Question, hurried: Hurried): Promise<Body> {
  const { call, house, until, resends } = hurried
  const { line, upstreamModel } = attempt.target
  const limitMs = until - performance.now()
  const running = house.running.begin(call, { url, limitMs })
  try {
    const connectMs = Math.min(house.timeouts.connectMs, limitMs)
    const { tenant: owner } = call.caller
    const response = await line.send({ url, headers, body, abort: running.abort, connectMs, owner, resends })
    if (MEANS_NO_COUNTER.has(response.status)) noteWithout(line, upstreamModel)
    if (!response.ok) throw await upstreamError(response, attempt, running)
    const told = read(await readAll(response, MAX_ANSWER_BYTES))
    if (told === undefined) throw new GatewayError("upstream_unavailable", NO_COUNT, { owner: "upstream" })
    return told
  } catch (thrown) {
    throw thrown instanceof GatewayError ? thrown : failure(thrown, running.abort)
  } finally {
    house.running.end(running)
  }
}

const NO_COUNT = "The provider's answer is no count of tokens."

/** Many hosts that speak a protocol have no counter in it; they need not be asked again soon. */
const MEANS_NO_COUNTER: ReadonlySet<number> = new Set([404, 405, 501])
const REMEMBERED_MS = 10 * 60_000
const MAX_REMEMBERED = 1000
const without = new WeakMap<Line, Map<string, number>>()

function noteWithout(line: Line, model: string): void {
  const models = without.get(line) ?? new Map<string, number>()
  if (models.size >= MAX_REMEMBERED) models.clear()
  models.set(model, performance.now() + REMEMBERED_MS)
  without.set(line, models)
}

function isWithout(line: Line, model: string): boolean {
  return performance.now() < (without.get(line)?.get(model) ?? 0)
}
