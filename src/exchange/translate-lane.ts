// The translate lane: what the client said in its protocol is said to the upstream in another, and what that answers
// in the client's.
import { GatewayError } from "../canonical/error.ts"
import { isObject, type JsonObject } from "../canonical/json.ts"
import type { Loss } from "../canonical/loss.ts"
import type { ChatResponse } from "../canonical/response.ts"
import type { EncodeContext, IngressCodec, UpstreamCodec } from "../protocols/codec.ts"
import type { Errand } from "../providers/contract.ts"
import type { Target } from "../routing/plan.ts"
import { decodeUtf8, encodeByteText, fromByteText } from "../transport/byte-text.ts"
import { outline } from "../transport/json-scan.ts"
import { splice } from "../transport/json-splice.ts"
import { answerKeys } from "./answer-text.ts"
import type { Call, House } from "./call.ts"
import { carryThoughts } from "./carried-thoughts.ts"
import { textOfResponse } from "./counted-text.ts"
import { refuseEmptyAnswer } from "./empty-answer.ts"
import { relevantSeals } from "./kept-seals.ts"
import type { Answered, Attempt, Lane, Passage, Watch } from "./lane.ts"
import { type Mending, mendResponse } from "./mended-answer.ts"
import { isLarge, type ReadRequest } from "./request.ts"
import { saltFor } from "./salt-identifiers.ts"
import {
  refuseLosses,
  type TranslatedRequest,
  type TranslateTask,
  translateRequest,
  type WantedMedia,
} from "./translate-request.ts"
import { TranslatedPassage } from "./translated-passage.ts"

/** The request on its way, whoever it goes to. */
export interface Occasion {
  readonly call: Call
  readonly house: House
  readonly request: ReadRequest
}

/** What this caller asks cannot be said to this target. No call was made; another target may take it. */
export class UnsayableError extends Error {
  override readonly name = "UnsayableError"

  constructor(readonly error: GatewayError) {
    super(error.message)
  }
}

/** Where a model's most is not known, as much as most models put out. */
const USUAL_MAX_OUTPUT_TOKENS = 8192

export function translateLane(target: Target, occasion: Occasion): Lane | Promise<Lane> {
  const { request, house } = occasion
  const task = taskOf(target, occasion)
  if (isLarge(request.text.length)) return translatedApart(task, target, occasion)
  const result = sayable(() => translateRequest(bodyOf(request), task, house.codecs))
  if ("wanted" in result) return translatedWith(result, { task, target, occasion })
  return laneOf(result, target, occasion)
}

/** In another thread, one after the other: it would take time and memory from everybody else. */
async function translatedApart(task: TranslateTask, target: Target, occasion: Occasion): Promise<Lane> {
  const { house, request } = occasion
  const result = await house.largeInTurn
    .run(() => house.translateLarge(textOf(request), task))
    .catch((thrown: unknown) => {
      throw asUnsayable(thrown)
    })
  if ("wanted" in result) return translatedWith(result, { task, target, occasion })
  return laneOf(result, target, occasion)
}

interface Waiting {
  readonly task: TranslateTask
  readonly target: Target
  readonly occasion: Occasion
}

async function translatedWith({ wanted }: WantedMedia, { task, target, occasion }: Waiting): Promise<Lane> {
  const { house, request } = occasion
  if (!house.fetchMedia) throw new Error("media is wanted where nobody fetches it")
  const media = await house.fetchMedia(wanted).catch((thrown: unknown) => {
    throw asUnsayable(thrown)
  })
  const whole = { ...task, media }
  const result = isLarge(request.text.length)
    ? await house.largeInTurn.run(() => house.translateLarge(textOf(request), whole))
    : sayable(() => translateRequest(bodyOf(request), whole, house.codecs))
  if ("wanted" in result) throw new Error("media was fetched and is wanted again")
  return laneOf(result, target, occasion)
}

export function bodyOf(request: ReadRequest): JsonObject {
  return request.body ?? (JSON.parse(textOf(request)) as JsonObject)
}

function textOf({ text, isAscii }: ReadRequest): string {
  return isAscii ? text : decodeUtf8(fromByteText(text))
}

function sayable<Result>(say: () => Result): Result {
  try {
    return say()
  } catch (thrown) {
    throw asUnsayable(thrown)
  }
}

export function asUnsayable(thrown: unknown): unknown {
  return thrown instanceof GatewayError && thrown.owner === "caller" ? new UnsayableError(thrown) : thrown
}

function taskOf(target: Target, { call, house, request }: Occasion): TranslateTask {
  const identifiers = saltedIdentifiers(target, { call, house, request })
  const { model, line } = target
  const { tenant } = call.caller
  const kept = house.seals.lookup(tenant)
  return {
    from: call.protocol.id,
    envelope: call.envelope,
    to: target.protocol,
    context: {
      model: target.upstreamModel,
      stream: request.reading.stream,
      streamUsage: line.streamUsage,
      limitMembers: line.limitMembers,
      minter: minterOf(target, house.codecs.upstream.get(target.protocol)),
      maxOutputTokens: model.maxOutputTokens ?? USUAL_MAX_OUTPUT_TOKENS,
      reasons: model.reasoning,
      ...(model.efforts && { efforts: model.efforts }),
      ...(model.thinkingTokens && { thinkingTokens: model.thinkingTokens }),
      ...(model.fixedSampling && { fixedSampling: true }),
      ...(line.lacksRemoteServers && { lacksRemoteServers: true }),
    },
    // Another thread is given a copy.
    kept: isLarge(request.text.length) ? relevantSeals(kept, request.text) : kept,
    ...(line.callId && { callId: line.callId }),
    ...(identifiers && { identifiers }),
    ...(house.fetchMedia && { media: new Map() }),
  }
}

function saltedIdentifiers(target: Target, { call, house, request }: Occasion): Map<string, string> | undefined {
  const { identifiers } = request.reading
  const salt = identifiers && saltFor({ call, house, target })
  return salt && new Map(identifiers.map(({ value }) => [value, salt(value)]))
}

function minterOf({ model, account }: Target, upstream: UpstreamCodec | undefined): string {
  const [author = ""] = model.id.split("/", 1)
  return upstream?.minter({ author, account: account.id }) ?? ""
}

function laneOf(said: TranslatedRequest, target: Target, { call, house, request }: Occasion): Lane {
  const ingress = house.codecs.ingress.get(call.protocol.id)
  const upstream = house.codecs.upstream.get(target.protocol)
  if (!ingress || !upstream) throw new Error("a translated request has its codecs")
  if (request.reading.routing.strict || call.caller.strict) sayable(() => refuseLosses(said.losses))
  return new TranslateLane(said, { ingress, upstream })
}

interface Halves {
  readonly ingress: IngressCodec
  readonly upstream: UpstreamCodec
}

class TranslateLane implements Lane {
  private readonly losses: Loss[]

  constructor(
    private readonly said: TranslatedRequest,
    private readonly halves: Halves,
  ) {
    this.losses = [...said.losses]
  }

  url({ target, request }: Attempt): string {
    const { line } = target
    const errand = this.errand(target, request.reading.stream)
    return line.baseUrl + (line.path ? line.path(errand) : errand.usualPath)
  }

  message({ call, target, request }: Attempt) {
    call.record.losses = this.losses
    const { line } = target
    const errand = this.errand(target, request.reading.stream)
    const own = call.protocol.id === target.protocol ? request.reading.headers : undefined
    const headers = { ...errand.headers, ...this.halves.upstream.headersFor?.(this.said.asked), ...own }
    return { headers: line.headersWith(headers), body: edited(this.said.body, line.edits?.(errand) ?? []) }
  }

  answer(bytes: Uint8Array, attempt: Attempt): Answered | undefined {
    const said = parsed(decodeUtf8(bytes))
    const response = said && this.halves.upstream.decodeResponse(said, this.decoding(attempt))
    if (!response) return undefined
    if (!isSameProtocol(attempt)) refuseEmptyAnswer(response)
    const mended = mendResponse(response, this.mending(attempt))
    const encoding = this.encoding(attempt)
    const encode = (whole: ChatResponse, context: EncodeContext) =>
      JSON.stringify(this.halves.ingress.encodeResponse(whole, context))
    const { usage, model } = response
    return {
      body: encode(mended, encoding),
      model,
      ...(usage && { usage }),
      said: () => textOfResponse(response),
      // What is lost was named when it was encoded first.
      withUsage: (counted) => encode({ ...mended, usage: counted }, { ...encoding, losses: [] }),
    }
  }

  passage(attempt: Attempt, watch: Watch): Passage {
    return new TranslatedPassage({
      decoder: this.halves.upstream.decodeStream(this.decoding(attempt)),
      writer: this.halves.ingress.encodeStream(this.encoding(attempt)),
      mending: this.mending(attempt),
      watch,
      sameProtocol: isSameProtocol(attempt),
    })
  }

  decodeError(error: Parameters<UpstreamCodec["decodeError"]>[0]): GatewayError {
    return this.halves.upstream.decodeError(error)
  }

  private errand({ upstreamModel: model }: Target, stream: boolean): Errand {
    const { operation, path, headers } = this.halves.upstream.errand(model, stream)
    return { operation, model, stream, usualPath: path, headers }
  }

  private decoding({ call, target }: Attempt) {
    return { id: idOf(call), minter: minterOf(target, this.halves.upstream), customTools: this.said.customs }
  }

  private encoding({ call, target, request }: Attempt): EncodeContext {
    const { usageAsked, framing, kept } = request.reading
    return {
      id: idOf(call),
      model: target.model.id,
      asked: this.said.asked,
      unixTime: Math.floor(Date.now() / 1000),
      usageAsked,
      framing,
      kept,
      losses: this.losses,
    }
  }

  private mending({ call, house }: Attempt): Mending {
    const { names, customs, question } = this.said
    const { tenant } = call.caller
    const { callId, dropsSeals, dropsThoughts, mayLoseSeals } = this.halves.ingress
    const keepBehind: Mending["keepBehind"] = ({ text, seals }) =>
      house.seals.keepBehind(tenant, answerKeys(text, question), seals)
    const common = { names, customs, callId, keepBehind }
    if (dropsThoughts) return { ...common, keep: (_, kept) => carryThoughts(kept) }
    if (!dropsSeals && !mayLoseSeals) return common
    const keep: Mending["keep"] = (id, kept) => {
      const lost = dropsSeals ? kept : { ...kept, before: kept.before.filter(({ form }) => form === "hidden") }
      if (lost.sealed || lost.before.length > 0) house.seals.keep(tenant, id, lost)
      return kept.sealed
    }
    return { ...common, keep }
  }
}

function isSameProtocol({ call, target }: Attempt): boolean {
  return call.protocol.id === target.protocol
}

/** Of the request's id as much as vendors' ids hold. */
function idOf({ record }: Call): string {
  return record.requestId.replaceAll("-", "").slice(-24)
}

/** What a provider changes of every body it is sent. */
function edited(body: string, edits: Parameters<typeof splice>[1]): string | Uint8Array<ArrayBuffer> {
  if (edits.length === 0) return Buffer.from(body)
  const text = encodeByteText(body)
  const outlined = outline(text)
  if (!outlined) throw new Error("a codec writes one object")
  return fromByteText(splice(text, edits, outlined))
}

function parsed(text: string) {
  try {
    const said: unknown = JSON.parse(text)
    return isObject(said) ? said : undefined
  } catch {
    return undefined
  }
}
