// Idempotency: a request that is sent again with its idempotency key is billed once. While the first one runs, and for a
// day after its response, a repeat gets an error, or the first response if the API key stores responses.
import { createHash } from "node:crypto"
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { IdempotencyBounds, IdempotencyRow, IdempotencyTable } from "../../store/contract.ts"

export interface ReplayedAnswer {
  /** The first request's, which it was billed as. */
  readonly requestId: string
  readonly status: number
  readonly contentType: string
  readonly body: Uint8Array
}

interface IdempotencyLimits {
  readonly lifetimeMs: number
  /** Of one answer. */
  readonly answerBytes: number
  readonly ofTenant: IdempotencyBounds
  readonly ofAll: IdempotencyBounds
  /** Of all streams under way that are to be kept. */
  readonly gatheredBytes: number
}

interface IdempotencyOptions {
  readonly table: IdempotencyTable
  readonly seal: (plain: Uint8Array, context: string) => Uint8Array
  /** Undefined where it does not open. */
  readonly open: (sealed: Uint8Array, context: string) => Uint8Array | undefined
  readonly now?: () => number
  readonly limits?: Partial<IdempotencyLimits>
}

interface IdempotentRequest {
  readonly keyId: string
  readonly tenant: string
  readonly idempotencyKey: string
  /** Equal for a repeated request, and for no other. */
  readonly bodyHash: string
  readonly requestId: string
  readonly keepsAnswer: boolean
}

/** How a request was answered that has been paid for. */
export interface SentAnswer {
  readonly status: number
  readonly contentType: string
  /** The bytes that were not passed to `sent`. */
  readonly last?: Uint8Array
  /** The client left before the end: what was sent is no answer to give again. */
  readonly cutShort?: boolean
}

/** The one request that runs under an idempotency key. */
export interface IdempotencyClaim {
  /** Bytes of a streamed answer as they are sent. */
  sent(bytes: Uint8Array): void
  /** Writes that it was answered, within the ledger's settling transaction; again where that is written anew. */
  answered(answer: SentAnswer): void
  /** Called when the exchange is over: frees the key unless the request was answered. */
  end(): void
}

const MIB = 1024 * 1024
const DEFAULT_LIMITS: IdempotencyLimits = {
  lifetimeMs: 24 * 60 * 60 * 1000,
  answerBytes: MIB,
  ofTenant: { rows: 2_500_000, answerBytes: 128 * MIB },
  ofAll: { rows: 5_000_000, answerBytes: 256 * MIB },
  gatheredBytes: 64 * MIB,
}
/** More than one for each that comes in, so that those of a busy day are gone some time after it. */
const DROPPED_AT_ONCE = 8
const IN_FLIGHT_RETRY_MS = 1000

export class IdempotencyRegistry {
  /** One process has the store, so what runs is known here. */
  private readonly claims = new Map<string, ClaimedRequest>()
  private readonly limits: IdempotencyLimits
  private readonly now: () => number
  private gatheredBytes = 0

  constructor(private readonly options: IdempotencyOptions) {
    this.limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.now = options.now ?? Date.now
  }

  /** The first answer, where it was kept; a claim, where there is none; else a 409, or a 400 for a malformed key. */
  begin(request: IdempotentRequest): IdempotencyClaim | ReplayedAnswer {
    checkKey(request.idempotencyKey)
    const hash = createHash("sha256").update(`${request.keyId}\n${request.idempotencyKey}`).digest("base64url")
    const running = this.claims.get(hash)
    if (running) throw running.request.bodyHash === request.bodyHash ? inFlightError() : conflictError(running.request)
    const row = readIdempotencyStore(() => this.options.table.find(hash))
    if (!row || row.at < this.aliveSince()) return this.claim(hash, request)
    if (row.bodyHash !== request.bodyHash) throw conflictError(row)
    const kept = request.keepsAnswer ? readIdempotencyStore(() => this.findAnswer(row, request)) : undefined
    if (!kept) throw replayedError(row)
    return kept
  }

  /** What is from before has been forgotten, whether it is still there or not. */
  private aliveSince(): number {
    return this.now() - this.limits.lifetimeMs + 1
  }

  private claim(hash: string, request: IdempotentRequest): IdempotencyClaim {
    const claim = new ClaimedRequest(request, {
      answerBytes: this.limits.answerBytes,
      reserve: (bytes) => this.reserve(bytes),
      write: (answer) => this.write(answer, { ...request, hash }),
      leave: () => {
        if (this.claims.get(hash) === claim) this.claims.delete(hash)
      },
    })
    this.claims.set(hash, claim)
    return claim
  }

  /** Whether so many bytes more may be gathered; fewer than none gives them back. */
  private reserve(bytes: number): boolean {
    if (bytes > 0 && this.gatheredBytes + bytes > this.limits.gatheredBytes) return false
    this.gatheredBytes += bytes
    return true
  }

  private findAnswer({ hash, requestId }: IdempotencyRow, { keyId }: IdempotentRequest): ReplayedAnswer | undefined {
    const found = this.options.table.findAnswer(hash)
    const body = found && this.options.open(found.sealed, sealContext(keyId, hash))
    return body && { requestId, status: found.status, contentType: found.contentType, body }
  }

  private write(answer: ReplayableAnswer | undefined, request: IdempotentRequest & { readonly hash: string }): void {
    const { table } = this.options
    const { hash, bodyHash, requestId, tenant } = request
    table.dropBefore(this.aliveSince(), DROPPED_AT_ONCE)
    table.insert({ hash, bodyHash, requestId, at: this.now(), tenant }, answer && this.sealAnswer(answer, request))
    table.keepWithin(this.limits, tenant)
  }

  private sealAnswer(
    { status, contentType, body }: ReplayableAnswer,
    { keyId, hash }: { keyId: string; hash: string },
  ) {
    return { status, contentType, sealed: this.options.seal(body, sealContext(keyId, hash)) }
  }
}

type ReplayableAnswer = Omit<ReplayedAnswer, "requestId">

interface ClaimOwner {
  readonly answerBytes: number
  reserve(bytes: number): boolean
  write(answer: ReplayableAnswer | undefined): void
  leave(): void
}

class ClaimedRequest implements IdempotencyClaim {
  /** Undefined where the answer is not kept. */
  private gathered: ByteAccumulator | undefined

  constructor(
    readonly request: IdempotentRequest,
    private readonly owner: ClaimOwner,
  ) {
    this.gathered = request.keepsAnswer ? new ByteAccumulator() : undefined
  }

  sent(bytes: Uint8Array): void {
    if (!this.gathered) return
    const fits = this.gathered.length + bytes.length <= this.owner.answerBytes
    if (fits && this.owner.reserve(bytes.length)) this.gathered.add(bytes)
    else this.forget()
  }

  answered({ status, contentType, last = NOTHING, cutShort = false }: SentAnswer): void {
    if (status < 200 || status > 299) return
    const { gathered } = this
    const isKept = gathered && !cutShort && gathered.length + last.length <= this.owner.answerBytes
    this.owner.write(isKept ? { status, contentType, body: gathered.with(last) } : undefined)
  }

  end(): void {
    this.forget()
    this.owner.leave()
  }

  private forget(): void {
    this.owner.reserve(-(this.gathered?.length ?? 0))
    this.gathered = undefined
  }
}

const NOTHING = new Uint8Array(0)

/** Bytes in one place: a stream sends many small pieces, and each as an array of its own would take several times as much. */
class ByteAccumulator {
  length = 0
  private bytes = NOTHING

  add(more: Uint8Array): void {
    const length = this.length + more.length
    if (length > this.bytes.length) {
      const grown = new Uint8Array(Math.max(length, this.bytes.length * 2))
      grown.set(this.bytes.subarray(0, this.length))
      this.bytes = grown
    }
    this.bytes.set(more, this.length)
    this.length = length
  }

  with(last: Uint8Array): Uint8Array {
    const all = new Uint8Array(this.length + last.length)
    all.set(this.bytes.subarray(0, this.length))
    all.set(last, this.length)
    return all
  }
}

/** Where an answer is sealed for. */
function sealContext(keyId: string, hash: string): string {
  return `answer ${keyId} ${hash}`
}

function readIdempotencyStore<Result>(read: () => Result): Result {
  try {
    return read()
  } catch (cause) {
    const message = "The gateway cannot look up idempotency keys at the moment. Try again."
    throw new GatewayError("store_unavailable", message, { cause })
  }
}

function checkKey(key: string): void {
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return
  const message = "The header `Idempotency-Key` must be 1 to 255 printable ASCII characters, such as a UUID."
  throw new GatewayError("invalid_parameter", message, { param: "Idempotency-Key" })
}

function inFlightError(): GatewayError {
  const message = "The request with this idempotency key is still running. Try again when it has finished."
  return new GatewayError("idempotency_in_flight", message, { retryAfterMs: IN_FLIGHT_RETRY_MS })
}

function conflictError({ requestId }: { requestId: string }): GatewayError {
  const message = `This idempotency key was used for a different request, ${requestId}. Use a new key for a new request.`
  return new GatewayError("idempotency_conflict", message)
}

function replayedError({ requestId }: { requestId: string }): GatewayError {
  const what = `This request was already answered and billed as ${requestId}, and its response is not stored.`
  const mends = `GET /v1/receipts/${requestId} shows its cost. To run the request again, send a new key.`
  return new GatewayError("idempotency_replayed", `${what} ${mends}`)
}
