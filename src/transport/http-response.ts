// An upstream's response as it arrives: the head at once, the body as it is read. A small buffer fills ahead; beyond it
// the upstream has to wait.
import type { ResponseHead, ResponseListener } from "./http-response-parser.ts"

/** The part of a response that the gateway needs. A `Response` is one. */
export interface UpstreamResponse {
  readonly status: number
  readonly ok: boolean
  readonly headers: { get(name: string): string | null; has(name: string): boolean }
  readonly body: UpstreamBody | null
  /** Of the body, where its framing fixes it. A `Response` does not tell: its header may be wrong. */
  readonly length?: number | undefined
  /** Time to open its connection; 0 on a reused one, undefined if not known. */
  readonly connectMs?: number | undefined
}

export interface UpstreamBody {
  getReader(): UpstreamBodyReader
  cancel(reason?: unknown): Promise<void>
}

export interface UpstreamBodyReader {
  read(): Promise<BodyChunk>
  cancel(reason?: unknown): Promise<void>
}

export type BodyChunk =
  | { readonly done: true; readonly value?: undefined }
  | { readonly done: false; readonly value: Uint8Array }

/** More than this waits in the kernel, and then at the upstream. */
const MAX_WAITING_BYTES = 16 * 1024

const DONE: BodyChunk = { done: true }

/** The connection an answer comes over. */
interface ResponseCarrier {
  pause(): void
  resume(): void
  /** Ends the connection where this answer still comes over it. */
  abandon(answer: HttpResponse, reason: unknown): void
}

interface PendingRead<Result> {
  resolve(result: Result): void
  reject(cause: unknown): void
}

export class HttpResponse implements UpstreamResponse, UpstreamBody, UpstreamBodyReader, ResponseListener {
  status = 0
  length: number | undefined
  connectMs: number | undefined
  readonly headers = new HeaderMap()
  /** Resolves with this answer once its head is there. */
  readonly arrived: Promise<HttpResponse>
  private headWaiting: PendingRead<HttpResponse> | undefined
  private pieceWaiting: PendingRead<BodyChunk> | undefined
  private readonly pieces: Uint8Array[] = []
  private waitingBytes = 0
  private paused = false
  private ended = false
  private failure: { readonly reason: unknown } | undefined

  constructor(private readonly carrier: ResponseCarrier) {
    this.arrived = new Promise((resolve, reject) => {
      this.headWaiting = { resolve, reject }
    })
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300
  }

  get body(): UpstreamBody {
    return this
  }

  getReader(): UpstreamBodyReader {
    return this
  }

  read(): Promise<BodyChunk> {
    const piece = this.next()
    if (piece) return Promise.resolve({ done: false, value: piece })
    if (this.failure) return Promise.reject(this.failure.reason)
    if (this.ended) return Promise.resolve(DONE)
    return new Promise((resolve, reject) => {
      this.pieceWaiting = { resolve, reject }
    })
  }

  async cancel(reason?: unknown): Promise<void> {
    this.abandon(reason)
  }

  /** Discards the rest; pending readers receive the reason. */
  abandon(reason: unknown): void {
    if (!this.ended && !this.failure) this.carrier.abandon(this, reason)
  }

  // Called by the connection.

  head({ status, headers, length }: ResponseHead): void {
    this.status = status
    this.length = length
    this.headers.map = headers
    const waiting = this.headWaiting
    this.headWaiting = undefined
    waiting?.resolve(this)
  }

  piece(bytes: Uint8Array): void {
    const waiting = this.pieceWaiting
    if (waiting) {
      this.pieceWaiting = undefined
      waiting.resolve({ done: false, value: bytes })
      return
    }
    this.pieces.push(bytes)
    this.waitingBytes += bytes.byteLength
    if (this.waitingBytes < MAX_WAITING_BYTES || this.paused) return
    this.paused = true
    this.carrier.pause()
  }

  end(): void {
    this.ended = true
    const waiting = this.pieceWaiting
    this.pieceWaiting = undefined
    waiting?.resolve(DONE)
  }

  fail(reason: unknown): void {
    if (this.ended || this.failure) return
    this.failure = { reason }
    const waiting = this.headWaiting ?? this.pieceWaiting
    this.headWaiting = undefined
    this.pieceWaiting = undefined
    waiting?.reject(reason)
  }

  private next(): Uint8Array | undefined {
    const piece = this.pieces.shift()
    if (!piece) return undefined
    this.waitingBytes -= piece.byteLength
    if (this.paused && this.waitingBytes < MAX_WAITING_BYTES) {
      this.paused = false
      if (!this.ended) this.carrier.resume()
    }
    return piece
  }
}

/** Headers as they were parsed, looked up as `Headers` are. */
class HeaderMap {
  map: ReadonlyMap<string, string> = new Map()

  get(name: string): string | null {
    return this.map.get(name) ?? null
  }

  has(name: string): boolean {
    return this.map.has(name)
  }
}
