// The translate lane: translates the request to the upstream's protocol, and the response back to the client's.

import type { ChatResponse } from "../../canonical/chat/chat-response.ts"
import { GatewayError } from "../../canonical/gateway-error.ts"
import { type JsonObject, parseJsonObject } from "../../canonical/json.ts"
import type { Loss } from "../../canonical/loss.ts"
import type { ClientResponseContext, IngressCodec, UpstreamCodec } from "../../protocols/chat-codec.ts"
import type { ProviderOperation } from "../../providers/contract.ts"
import type { Target } from "../../routing/route-plan.ts"
import { decodeUtf8, encodeByteText, fromByteText } from "../../transport/json/byte-text.ts"
import { outlineJson } from "../../transport/json/json-scan.ts"
import { spliceJson } from "../../transport/json/json-splice.ts"
import { textOfResponse } from "../charge/countable-text.ts"
import { answerKeys } from "../conversations/answer-text.ts"
import { carryThoughts } from "../conversations/carried-thoughts.ts"
import { relevantSeals } from "../conversations/seal-cache.ts"
import type { ExchangeContext } from "../exchange-context.ts"
import type { ClientCall } from "../exchange-deps.ts"
import { isLarge, type ReadRequest } from "../read-request.ts"
import { StreamTranslation } from "../streams/translate-stream.ts"
import { refuseEmptyAnswer } from "./empty-answer.ts"
import type { Attempt, Lane, LaneRequest, StreamPipe, StreamWatcher, UnaryAnswer } from "./lane.ts"
import { type AnswerRestoration, restoreResponse } from "./restore-answer.ts"
import { saltFor } from "./salt-identifiers.ts"
import {
  refuseLosses,
  type TranslatedRequest,
  type TranslateTask,
  translateRequest,
  type WantedMedia,
} from "./translate-request.ts"

/** The request cannot be translated for this target. No call was made; another target may accept it. */
export class UntranslatableError extends Error {
  override readonly name = "UnsayableError"

  constructor(readonly error: GatewayError) {
    super(error.message)
  }
}

/** Where a model's most is not known, as much as most models put out. */
const USUAL_MAX_OUTPUT_TOKENS = 8192

export function translateLane(target: Target, context: ExchangeContext): Lane | Promise<Lane> {
  const { request, deps } = context
  const task = newTranslateTask(target, context)
  if (isLarge(request.text.length)) return translateInWorker(task, target, context)
  const result = orUntranslatable(() => translateRequest(bodyOf(request), task, deps.codecs))
  if ("wanted" in result) return translateWithMedia(result, { task, target, context })
  return newTranslateLane(result, target, context)
}

/** Runs in another thread, one at a time, to limit time and memory. */
async function translateInWorker(task: TranslateTask, target: Target, context: ExchangeContext): Promise<Lane> {
  const { deps, request } = context
  const result = await deps.largeRequestQueue
    .run(() => deps.translateLarge(textOf(request), task))
    .catch((thrown: unknown) => {
      throw asUntranslatable(thrown)
    })
  if ("wanted" in result) return translateWithMedia(result, { task, target, context })
  return newTranslateLane(result, target, context)
}

interface PendingTranslation {
  readonly task: TranslateTask
  readonly target: Target
  readonly context: ExchangeContext
}

async function translateWithMedia(
  { wanted }: WantedMedia,
  { task, target, context }: PendingTranslation,
): Promise<Lane> {
  const { deps, request } = context
  if (!deps.fetchMedia) throw new Error("the lane needs media and has no fetcher")
  const media = await deps.fetchMedia(wanted).catch((thrown: unknown) => {
    throw asUntranslatable(thrown)
  })
  const whole = { ...task, media }
  const result = isLarge(request.text.length)
    ? await deps.largeRequestQueue.run(() => deps.translateLarge(textOf(request), whole))
    : orUntranslatable(() => translateRequest(bodyOf(request), whole, deps.codecs))
  if ("wanted" in result) throw new Error("the lane asks again for media that was already fetched")
  return newTranslateLane(result, target, context)
}

export function bodyOf(request: ReadRequest): JsonObject {
  return request.body ?? (JSON.parse(textOf(request)) as JsonObject)
}

function textOf({ text, isAscii }: ReadRequest): string {
  return isAscii ? text : decodeUtf8(fromByteText(text))
}

function orUntranslatable<Result>(say: () => Result): Result {
  try {
    return say()
  } catch (thrown) {
    throw asUntranslatable(thrown)
  }
}

export function asUntranslatable(thrown: unknown): unknown {
  return thrown instanceof GatewayError && thrown.owner === "caller" ? new UntranslatableError(thrown) : thrown
}

function newTranslateTask(target: Target, context: ExchangeContext): TranslateTask {
  const { call, deps, request } = context
  const identifiers = saltedIdentifiers(target, context)
  const { model, endpoint } = target
  const { tenant } = call.caller
  const kept = deps.sealCache.lookup(tenant)
  return {
    from: call.protocol.id,
    envelope: call.envelope,
    to: target.protocol,
    context: {
      model: target.upstreamModel,
      stream: request.reading.stream,
      streamUsage: endpoint.streamUsage,
      limitMembers: endpoint.limitMembers,
      minter: minterOf(target, deps.codecs.upstream.get(target.protocol)),
      maxOutputTokens: model.maxOutputTokens ?? USUAL_MAX_OUTPUT_TOKENS,
      reasons: model.reasoning,
      ...(model.efforts && { efforts: model.efforts }),
      ...(model.thinkingTokens && { thinkingTokens: model.thinkingTokens }),
      ...(model.fixedSampling && { fixedSampling: true }),
      ...(endpoint.lacksRemoteServers && { lacksRemoteServers: true }),
    },
    // Another thread is given a copy.
    kept: isLarge(request.text.length) ? relevantSeals(kept, request.text) : kept,
    ...(endpoint.callId && { callId: endpoint.callId }),
    ...(identifiers && { identifiers }),
    ...(deps.fetchMedia && { media: new Map() }),
  }
}

function saltedIdentifiers(target: Target, { call, deps, request }: ExchangeContext): Map<string, string> | undefined {
  const { identifiers } = request.reading
  const salt = identifiers && saltFor({ call, deps, target })
  return salt && new Map(identifiers.map(({ value }) => [value, salt(value)]))
}

function minterOf({ model, account }: Target, upstream: UpstreamCodec | undefined): string {
  const [author = ""] = model.id.split("/", 1)
  return upstream?.minter({ author, account: account.id }) ?? ""
}

function newTranslateLane(
  translated: TranslatedRequest,
  target: Target,
  { call, deps, request }: ExchangeContext,
): Lane {
  const ingress = deps.codecs.ingress.get(call.protocol.id)
  const upstream = deps.codecs.upstream.get(target.protocol)
  if (!ingress || !upstream) throw new Error("a translated request has its codecs")
  if (request.reading.routing.strict || call.caller.strict) orUntranslatable(() => refuseLosses(translated.losses))
  return new TranslateLane(translated, { ingress, upstream })
}

interface ChatCodecPair {
  readonly ingress: IngressCodec
  readonly upstream: UpstreamCodec
}

class TranslateLane implements Lane {
  private readonly losses: Loss[]

  constructor(
    private readonly translated: TranslatedRequest,
    private readonly halves: ChatCodecPair,
  ) {
    this.losses = [...translated.losses]
  }

  url({ target, request }: LaneRequest): string {
    const { endpoint } = target
    const errand = this.errand(target, request.reading.stream)
    return endpoint.baseUrl + (endpoint.path ? endpoint.path(errand) : errand.usualPath)
  }

  message({ call, target, request }: LaneRequest) {
    const { endpoint } = target
    const errand = this.errand(target, request.reading.stream)
    const own = call.protocol.id === target.protocol ? request.reading.headers : undefined
    const headers = { ...errand.headers, ...this.halves.upstream.headersFor?.(this.translated.parameters), ...own }
    const body = applyEdits(this.translated.body, endpoint.edits?.(errand) ?? [])
    return { headers: endpoint.headersWith(headers), body, losses: this.losses }
  }

  answer(bytes: Uint8Array, attempt: Attempt): UnaryAnswer | undefined {
    const body = parseJsonObject(decodeUtf8(bytes))
    const response = body && this.halves.upstream.decodeResponse(body, this.decoding(attempt))
    if (!response) return undefined
    if (!isSameProtocol(attempt)) refuseEmptyAnswer(response)
    const mended = restoreResponse(response, this.restoration(attempt))
    const encoding = this.encoding(attempt)
    const encode = (whole: ChatResponse, context: ClientResponseContext) =>
      JSON.stringify(this.halves.ingress.encodeResponse(whole, context))
    const { usage, model } = response
    return {
      body: encode(mended, encoding),
      model,
      ...(usage && { usage }),
      transcript: () => textOfResponse(response),
      // What is lost was named when it was encoded first.
      withUsage: (counted) => encode({ ...mended, usage: counted }, { ...encoding, losses: [] }),
    }
  }

  openPipe(attempt: Attempt, watch: StreamWatcher): StreamPipe {
    return new StreamTranslation({
      decoder: this.halves.upstream.decodeStream(this.decoding(attempt)),
      writer: this.halves.ingress.encodeStream(this.encoding(attempt)),
      restoration: this.restoration(attempt),
      watch,
      sameProtocol: isSameProtocol(attempt),
    })
  }

  decodeError(error: Parameters<UpstreamCodec["decodeError"]>[0]): GatewayError {
    return this.halves.upstream.decodeError(error)
  }

  private errand({ upstreamModel: model }: Target, stream: boolean): ProviderOperation {
    const { operation, path, headers } = this.halves.upstream.operationFor(model, stream)
    return { operation, model, stream, usualPath: path, headers }
  }

  private decoding({ call, target }: Attempt) {
    return { id: idOf(call), minter: minterOf(target, this.halves.upstream), customTools: this.translated.customs }
  }

  private encoding({ call, target, request }: Attempt): ClientResponseContext {
    const { usageRequested, framing, storage: kept } = request.reading
    return {
      id: idOf(call),
      model: target.model.id,
      request: this.translated.parameters,
      unixTime: Math.floor(Date.now() / 1000),
      usageRequested,
      framing,
      storage: kept,
      losses: this.losses,
    }
  }

  private restoration({ call, deps }: Attempt): AnswerRestoration {
    const { names, customs, question } = this.translated
    const { tenant } = call.caller
    const { callId, dropsSeals, dropsThoughts, mayLoseSeals } = this.halves.ingress
    const keepTrailing: AnswerRestoration["keepTrailing"] = ({ text, seals }) =>
      deps.sealCache.keepTrailing(tenant, answerKeys(text, question), seals)
    const common = { names, customs, callId, keepTrailing }
    if (dropsThoughts) return { ...common, keep: (_, kept) => carryThoughts(kept) }
    if (!dropsSeals && !mayLoseSeals) return common
    const keep: AnswerRestoration["keep"] = (id, kept) => {
      const lost = dropsSeals ? kept : { ...kept, before: kept.before.filter(({ form }) => form === "hidden") }
      if (lost.sealed || lost.before.length > 0) deps.sealCache.keep(tenant, id, lost)
      return kept.sealed
    }
    return { ...common, keep }
  }
}

function isSameProtocol({ call, target }: Attempt): boolean {
  return call.protocol.id === target.protocol
}

/** Of the request's id as much as vendors' ids hold. */
function idOf({ progress }: ClientCall): string {
  return progress.requestId.replaceAll("-", "").slice(-24)
}

/** What a provider changes of every body it is sent. */
function applyEdits(body: string, edits: Parameters<typeof spliceJson>[1]): string | Uint8Array<ArrayBuffer> {
  if (edits.length === 0) return Buffer.from(body)
  const text = encodeByteText(body)
  const outlined = outlineJson(text)
  if (!outlined) throw new Error("a codec writes one object")
  return fromByteText(spliceJson(text, edits, outlined))
}
