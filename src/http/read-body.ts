// Reads a request body: JSON, uncompressed, within the route's size limit and a time limit.
import { GatewayError } from "../canonical/gateway-error.ts"
import type { DeadlineTimer } from "../transport/deadline-timer.ts"
import type { BodyShare } from "./body-budget.ts"

const JSON_TYPE = /^application\/([\w.!#$&^-]+\+)?json\s*(;|$)/i

/** Bodies up to this many bytes are not counted: as many of them as may be in flight still fit. */
const SMALL_BYTES = 64 * 1024
/** What is set aside for a large body before any of it has come. */
const FIRST_BYTES = 64 * 1024
/** A small body must be there by then; of a large one at least so much must have come each time. */
const PACE_MS = 10_000
const PACE_BYTES = 16 * 1024

export interface ReadBodyOptions {
  readonly limit: number
  readonly deadlines: DeadlineTimer
  /** Called once where the body is large, for its part of the budget; who reads the body gives it back. */
  readonly openShare: () => BodyShare
}

/** The headers that a body is read by. */
export interface BodyHeaders {
  get(name: string): string | null
  has(name: string): boolean
}

export interface BodySource {
  readonly headers: BodyHeaders
  readonly body: {
    bytes(): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>
    read(): Promise<{ readonly done: false; readonly value: Uint8Array } | { readonly done: true }>
    cancel(): Promise<void>
  }
}

/** A request of the administration's listener. */
export function bodySource(request: Request): BodySource {
  const reader = request.body?.getReader()
  const read = async () => {
    const piece = await reader?.read()
    return piece?.value ? { done: false as const, value: piece.value } : { done: true as const }
  }
  const bytes = async () => {
    const pieces: Uint8Array[] = []
    for (let piece = await read(); !piece.done; piece = await read()) pieces.push(piece.value)
    return Buffer.concat(pieces)
  }
  return { headers: request.headers, body: { bytes, read, cancel: async () => reader?.cancel() } }
}

type RequestBytes = Uint8Array<ArrayBuffer>

/** At once where a small body is there, as most come together with their head. */
export function readBody(
  { headers, body }: BodySource,
  options: ReadBodyOptions,
): RequestBytes | Promise<RequestBytes> {
  checkHeaders(headers)
  const announced = headers.get("content-length")
  if (announced === null) return readInPieces(body, { ...options, announced: 0 })
  const length = Number(announced)
  if (length > options.limit) throw bodyTooLargeError(options.limit)
  if (length > SMALL_BYTES) return readInPieces(body, { ...options, announced: length })
  const reading = body.bytes()
  return reading instanceof Promise ? withDeadline(reading, options.deadlines) : reading
}

/** Whether a body counts against the budget, or may turn out to. */
export function hasLargeBody(headers: BodyHeaders): boolean {
  const announced = headers.get("content-length")
  return announced === null ? headers.has("transfer-encoding") : Number(announced) > SMALL_BYTES
}

function withDeadline<Read>(reading: Promise<Read>, deadlines: DeadlineTimer): Promise<Read> {
  return new Promise((resolve, reject) => {
    const deadline = deadlines.arm(PACE_MS, () => reject(new SlowBodyError()))
    const came = (bytes: Read) => {
      deadline.clear()
      resolve(bytes)
    }
    reading.then(came, (cause) => {
      deadline.clear()
      reject(cause)
    })
  })
}

function checkHeaders(headers: BodyHeaders): void {
  const type = headers.get("content-type") ?? ""
  if (type !== "application/json" && !JSON_TYPE.test(type)) {
    throw new GatewayError("invalid_content_type", "The body must be JSON: send `Content-Type: application/json`.")
  }
  const encoding = headers.get("content-encoding")
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new GatewayError("invalid_content_type", "The body must not be compressed: send it without Content-Encoding.")
  }
}

/** Bytes count against the budget as they arrive: an announced body takes nothing from others. */
async function readInPieces(
  source: BodySource["body"],
  { limit, openShare, deadlines, announced }: ReadBodyOptions & { readonly announced: number },
): Promise<Uint8Array<ArrayBuffer>> {
  const share = openShare()
  share.expect(announced)
  const body = new GrowingBytes(announced)
  const cancel = () => void source.cancel().catch(() => {})
  share.arriving(cancel)
  let slow = false
  let before = 0
  const deadline = deadlines.arm(PACE_MS, () => {
    slow = body.length - before < PACE_BYTES
    before = body.length
    if (slow) cancel()
    else deadline.extend(PACE_MS)
  })
  try {
    for (let piece = await source.read(); !piece.done; piece = await source.read()) {
      const length = body.length + piece.value.byteLength
      if (length > limit) throw bodyTooLargeError(limit)
      share.growTo(length)
      body.add(piece.value)
      freeMemory(piece.value)
    }
    share.arrived()
    if (slow) throw new SlowBodyError()
    return body.bytes()
  } catch (thrown) {
    body.free()
    throw thrown
  } finally {
    deadline.clear()
  }
}

/** Bytes that come in pieces, kept in one buffer that grows with them: pieces and their sum would take the memory twice. */
class GrowingBytes {
  length = 0
  private buffer: Uint8Array<ArrayBuffer>

  /** `expected` is the announced length; 0 if unknown. */
  constructor(private readonly expected: number) {
    this.buffer = Buffer.allocUnsafeSlow(Math.min(expected, FIRST_BYTES))
  }

  add(piece: Uint8Array): void {
    const end = this.length + piece.byteLength
    if (end > this.buffer.byteLength) this.grow(end)
    this.buffer.set(piece, this.length)
    this.length = end
  }

  bytes(): Uint8Array<ArrayBuffer> {
    return this.buffer.subarray(0, this.length)
  }

  free(): void {
    freeMemory(this.buffer)
  }

  /** Not `ArrayBuffer.transfer`, which fills the new part with zeros: of a large body that alone takes many milliseconds. */
  private grow(least: number): void {
    const doubled = Math.max(least, 2 * this.buffer.byteLength)
    const capacity = least <= this.expected ? Math.min(doubled, this.expected) : doubled
    const before = this.buffer
    this.buffer = Buffer.allocUnsafeSlow(capacity)
    this.buffer.set(before)
    freeMemory(before)
  }
}

/** Gives memory back at once that garbage collection would give back later: until then, many more bodies may come. */
function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

function bodyTooLargeError(limit: number): GatewayError {
  const size = limit >= 1024 * 1024 ? `${limit / 1024 / 1024} MiB` : `${limit / 1024} KiB`
  return new GatewayError("body_too_large", `The body is larger than ${size}.`)
}

/** A body that does not come. */
export class SlowBodyError extends GatewayError {
  constructor() {
    super("invalid_json", "The request body cannot be read: it did not arrive in time.")
  }
}
