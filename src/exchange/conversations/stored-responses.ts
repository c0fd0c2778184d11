// Responses stored per tenant, so that they can be read again and their conversations continued. Each stores the whole
// conversation it was made from, so none depends on another that was deleted or has expired.
import { excerpt, GatewayError } from "../../canonical/gateway-error.ts"
import type { Json, JsonObject } from "../../canonical/json.ts"
import type { ItemReference } from "../../protocols/contract.ts"
import type { ResponseBounds, ResponseRow, ResponseTable } from "../../store/contract.ts"
import { decodeUtf8, fromByteText } from "../../transport/json/byte-text.ts"
import type { JsonOutline } from "../../transport/json/json-scan.ts"
import { asciiOf } from "../../transport/json/json-splice.ts"
import type { IdempotencyClaim, SentAnswer } from "./idempotency.ts"

/** A request's text, in byte text, and where its members stand. */
interface RequestText {
  readonly text: string
  readonly outline: JsonOutline
}

/** How a protocol words a conversation. Texts are byte text. */
export interface ConversationCodec {
  /** What a request says itself, as JSON. */
  inputOf(request: RequestText): string
  /** The request with these items, as JSON and joined by commas, before its own. */
  continued(request: RequestText, items: string): string
  /** The request with items in the place of those that only name them, by their place in the input. */
  resolved(request: RequestText, items: ReadonlyMap<number, Json>): string
  /** The ids of the items that a response, as JSON, holds. */
  itemIdsIn(response: string): string[]
  findItem(turn: { readonly input: Json; readonly response: JsonObject }, id: string): Json | undefined
  /** The items of a turn, as the next request repeats them. */
  itemsOf(turn: { readonly input: Json; readonly response: JsonObject }): Json[]
  /** The response in the last bytes of an answer, as JSON; undefined where it says that it is not kept. */
  answerIn(bytes: Uint8Array): string | undefined
  /** The page of a response's input that a query asks for. */
  listInput(stored: { readonly responseId: string; readonly input: Json }, query: URLSearchParams): Json
}

export interface StoredResponseLimits {
  readonly lifetimeMs: number
  /** Of one response with its conversation. */
  readonly responseBytes: number
  readonly ofTenant: ResponseBounds
  readonly ofAll: ResponseBounds
  /** Bytes of running requests whose responses will be stored. */
  readonly gatheredBytes: number
}

interface StoredResponsesOptions {
  readonly table: ResponseTable
  readonly wording: ConversationCodec
  readonly seal: (plain: Uint8Array, context: string) => Uint8Array
  /** Undefined where it does not open. */
  readonly open: (sealed: Uint8Array, context: string) => Uint8Array | undefined
  /** Called with a response that could not be read and is not stored. */
  readonly onFault: (cause: unknown) => void
  readonly now?: () => number
  readonly limits?: Partial<StoredResponseLimits>
}

/** Where a response was made: only there its seals can be read. */
export interface ResponseOrigin {
  readonly provider: string
  /** Which of the provider's accounts. */
  readonly account: number
  readonly upstreamModel: string
}

/** A response as it rests, sealed. */
interface StoredResponse {
  /** The conversation before its request. */
  readonly before: readonly Json[]
  /** The request's input, as it was sent. */
  readonly input: Json
  readonly response: JsonObject
  readonly origin: ResponseOrigin | null
}

/** A conversation up to, and with, one of its responses. */
export interface StoredConversation {
  /** As JSON in ASCII, joined by commas. */
  readonly items: string
  readonly origin: ResponseOrigin | null
}

/** A request whose input says every item itself. */
export interface ResolvedReferences {
  readonly text: string
  /** Where the last of the items was made. */
  readonly origin: ResponseOrigin | null
}

/** A response on its way. */
export interface PendingResponse {
  readonly tenant: string
  readonly requestId: string
  readonly request: RequestText
  /** The earlier conversation, as items. */
  readonly before: string
  /** Called once the response exists. */
  originOf(): ResponseOrigin | undefined
}

/** A response that will be kept unless it becomes too long. */
export interface ResponseClaim extends IdempotencyClaim {
  /** How many bytes it may have. */
  readonly maxLength: number
}

const MIB = 1024 * 1024
const DEFAULT_LIMITS: StoredResponseLimits = {
  lifetimeMs: 30 * 24 * 60 * 60 * 1000,
  responseBytes: 4 * MIB,
  ofTenant: { rows: 100_000, bytes: 256 * MIB },
  ofAll: { rows: 1_000_000, bytes: 1024 * MIB },
  gatheredBytes: 128 * MIB,
}
/** More than one for each that comes in, so that those of a busy day are gone some time after it. */
const DROPPED_AT_ONCE = 8

export class StoredResponses {
  private readonly limits: StoredResponseLimits
  private readonly now: () => number
  private gatheredBytes = 0

  constructor(private readonly options: StoredResponsesOptions) {
    this.limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.now = options.now ?? Date.now
  }

  /** The conversation that a request names; throws where the tenant has none of that id. */
  conversation(id: string, tenant: string): StoredConversation {
    const { before, origin, ...turn } = this.openResponse(id, tenant, previousNotFound)
    const items = [...before, ...this.options.wording.itemsOf(turn)]
    return { items: asciiOf(items).slice(1, -1), origin }
  }

  /** The request as it says the whole conversation. */
  continued(request: RequestText, { items }: StoredConversation): string {
    return this.options.wording.continued(request, items)
  }

  /** The request with the items that it names by their ids; throws where the tenant has none of an id. */
  resolve(request: RequestText, references: readonly ItemReference[], tenant: string): ResolvedReferences {
    const { table, wording } = this.options
    const items = new Map<number, Json>()
    const opened = new Map<string, StoredResponse | undefined>()
    let origin: ResponseOrigin | null = null
    for (const { index, id } of references) {
      const row = readResponseStore(() => table.findByItem(tenant, id))
      if (row && !opened.has(row.id)) opened.set(row.id, this.openRow(row))
      const stored = row && opened.get(row.id)
      const item = stored && wording.findItem(stored, id)
      if (!stored || item === undefined) throw itemNotFound(id, index)
      items.set(index, item)
      origin = stored.origin
    }
    return { text: wording.resolved(request, items), origin }
  }

  /** Undefined if the conversation leaves no space to store a response. */
  begin(expected: PendingResponse): ResponseClaim | undefined {
    const input = this.options.wording.inputOf(expected.request)
    const length = expected.before.length + input.length
    const maxLength = this.limits.responseBytes - length
    if (maxLength <= 0 || this.gatheredBytes + length > this.limits.gatheredBytes) return undefined
    this.gatheredBytes += length
    let isOver = false
    const { request: _, ...gathered } = { ...expected, input }
    return {
      maxLength,
      sent() {},
      answered: (answer) => this.write(gathered, answer),
      end: () => {
        if (!isOver) this.gatheredBytes -= length
        isOver = true
      },
    }
  }

  find(id: string, tenant: string): JsonObject {
    return this.openResponse(id, tenant, responseNotFound).response
  }

  inputOf(id: string, tenant: string, query: URLSearchParams): Json {
    const { input } = this.openResponse(id, tenant, responseNotFound)
    return this.options.wording.listInput({ responseId: id, input }, query)
  }

  remove(id: string, tenant: string): void {
    const isThere = readResponseStore(() => this.isAlive(id, tenant) && this.options.table.remove(tenant, id))
    if (!isThere) throw responseNotFound(id)
  }

  /** Forgets all that has expired, whatever it was to be found for. */
  dropExpired(): void {
    while (this.options.table.dropBefore(this.aliveSince(), 1000) > 0);
  }

  private aliveSince(): number {
    return this.now() - this.limits.lifetimeMs + 1
  }

  private isAlive(id: string, tenant: string): boolean {
    const row = this.options.table.find(tenant, id)
    return row !== undefined && row.at >= this.aliveSince()
  }

  private openResponse(id: string, tenant: string, missing: (id: string) => GatewayError): StoredResponse {
    const stored = this.openRow(readResponseStore(() => this.options.table.find(tenant, id)))
    if (!stored) throw missing(id)
    return stored
  }

  private openRow(row: ResponseRow | undefined): StoredResponse | undefined {
    if (!row || row.at < this.aliveSince()) return undefined
    const plain = this.options.open(row.sealed, sealContext(row.tenant, row.id))
    return plain && parseStored(decodeUtf8(plain))
  }

  /** Runs in the ledger's settling transaction, so a complete response can always be found. */
  private write(
    { tenant, requestId, before, input, originOf }: GatheredResponse,
    { status, last, cutShort }: SentAnswer,
  ): void {
    if (status < 200 || status > 299 || cutShort || !last) return
    const { response, items } = this.answerIn(last) ?? {}
    if (response === undefined || items === undefined) return
    const { table, seal } = this.options
    const id = responseId(requestId)
    const origin = asciiOf(originOf() ?? null)
    const text = `{"before":[${before}],"input":${input},"response":${response},"origin":${origin}}`
    table.dropBefore(this.aliveSince(), DROPPED_AT_ONCE)
    const row = { tenant, id, at: this.now(), sealed: seal(fromByteText(text), sealContext(tenant, id)) }
    table.insert(row, items)
    table.keepWithin(this.limits, tenant)
  }

  /** What cannot be read must not keep its request from being paid for. */
  private answerIn(last: Uint8Array): { readonly response: string; readonly items: string[] } | undefined {
    const { wording } = this.options
    try {
      const response = wording.answerIn(last)
      return response === undefined ? undefined : { response, items: wording.itemIdsIn(response) }
    } catch (fault) {
      this.options.onFault(fault)
      return undefined
    }
  }
}

interface GatheredResponse extends Omit<PendingResponse, "request"> {
  readonly input: string
}

/** The id that a request's answer bears. */
export function responseId(requestId: string): string {
  return `resp_${requestId.replaceAll("-", "").slice(-24)}`
}

/** Where a response is sealed for. */
function sealContext(tenant: string, id: string): string {
  return `response ${tenant} ${id}`
}

/** Undefined where a provider's answer was no JSON after all. */
function parseStored(text: string): StoredResponse | undefined {
  try {
    return JSON.parse(text) as StoredResponse
  } catch {
    return undefined
  }
}

function readResponseStore<Result>(read: () => Result): Result {
  try {
    return read()
  } catch (cause) {
    throw new GatewayError(
      "store_unavailable",
      "The gateway cannot look up stored responses at the moment. Try again.",
      { cause },
    )
  }
}

function responseNotFound(id: string): GatewayError {
  const message = `Response with id '${excerpt(id)}' not found. It was deleted, has expired, was not stored, or belongs to another tenant.`
  return new GatewayError("resource_not_found", message)
}

function itemNotFound(id: string, index: number): GatewayError {
  const why = "Its response was deleted, has expired, was not stored, or belongs to another tenant"
  const message = `Item with id '${excerpt(id)}' not found. ${why}: send the item itself instead.`
  return new GatewayError("invalid_parameter", message, { param: `input[${index}].id` })
}

/** An error of the request and not a missing route: the path exists. */
function previousNotFound(id: string): GatewayError {
  const why = "It was deleted, has expired, was not stored, or belongs to another tenant"
  const message = `Previous response with id '${excerpt(id)}' not found. ${why}: send the conversation in \`input\` instead.`
  return new GatewayError("invalid_parameter", message, { param: "previous_response_id" })
}
