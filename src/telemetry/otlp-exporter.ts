// Sends spans to a collector over OTLP/HTTP as JSON: in batches, one at a time, from a queue that is bounded. Whatever
// the collector does, no request waits for it and nothing is thrown.
import { encodeAttributes } from "./spans.ts"

export interface ExporterOptions {
  /** Where a batch is posted. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly resource: Readonly<Record<string, string>>
  /** How long an answer asks to be left alone. */
  readonly retryAfterMs: (headers: Headers) => number | undefined
  /** Called with the outcome of spans. */
  readonly onSpans: (result: "sent" | "failed" | "dropped", count: number) => void
  /** Called when the collector starts to reject spans or is unreachable, and when it accepts them again. */
  readonly onChange: (change: { readonly takes: boolean; readonly status: number | undefined }) => void
  readonly gatherMs?: number
  readonly timeoutMs?: number
  readonly retryMs?: number
  readonly maxQueued?: number
}

const GATHER_MS = 2000
const TIMEOUT_MS = 10_000
const RETRY_MS = 1000
const MAX_RETRY_MS = 30_000
/** At about 1 KiB each: 4 MiB of memory, and a batch that is joined in well under a millisecond. */
const MAX_QUEUED = 4096
const MAX_BATCH = 256
/** How much longer a stopping gateway waits for its collector. */
const FLUSH_MS = 2000

/** The result of a post; without status there was no response. */
interface ExportResult {
  readonly status?: number
  readonly retryAfterMs?: number | undefined
}

export class OtlpExporter {
  private queue: string[] = []
  private timer: ReturnType<typeof setTimeout> | undefined
  private sending: Promise<void> | undefined
  private takes = true
  /** Nothing is sent any more. */
  private over = false
  /** Ends what is being waited for: an answer, or the time for a second try. */
  private cutShort = () => {}
  private readonly head: string

  constructor(private readonly options: ExporterOptions) {
    const resource = JSON.stringify({ attributes: encodeAttributes(options.resource) })
    this.head = `{"resourceSpans":[{"resource":${resource},"scopeSpans":[{"scope":{"name":"trivium"},"spans":[`
  }

  /** Takes spans as JSON; drops them where too many wait. */
  add(spans: readonly string[]): void {
    const { maxQueued = MAX_QUEUED, onSpans } = this.options
    if (this.over || this.queue.length + spans.length > maxQueued) {
      onSpans("dropped", spans.length)
      return
    }
    this.queue.push(...spans)
    if (this.queue.length >= MAX_BATCH) this.send()
    else this.wait()
  }

  /** Sends what waits, but not for long; what is left then is lost. */
  async flush(): Promise<void> {
    const cut = setTimeout(() => this.finish(), FLUSH_MS)
    while (this.queue.length > 0 || this.sending) {
      this.send()
      await this.sending
    }
    clearTimeout(cut)
    this.finish()
  }

  private finish(): void {
    this.over = true
    clearTimeout(this.timer)
    if (this.queue.length > 0) this.options.onSpans("dropped", this.queue.splice(0).length)
    this.cutShort()
  }

  private wait(): void {
    if (this.timer !== undefined || this.sending) return
    this.timer = setTimeout(() => this.send(), this.options.gatherMs ?? GATHER_MS)
    this.timer.unref()
  }

  private send(): void {
    if (this.sending) return
    clearTimeout(this.timer)
    this.timer = undefined
    this.sending = this.sendBatch(this.queue.splice(0, MAX_BATCH)).finally(() => {
      this.sending = undefined
      if (this.queue.length >= MAX_BATCH) this.send()
      else if (this.queue.length > 0) this.wait()
    })
  }

  private async sendBatch(batch: readonly string[]): Promise<void> {
    const body = `${this.head}${batch.join(",")}]}]}]}`
    let posted = await this.post(body)
    if (mayRetry(posted) && (await this.pause(posted.retryAfterMs))) posted = await this.post(body)
    const { status } = posted
    const takes = status !== undefined && status >= 200 && status < 300
    this.options.onSpans(takes ? "sent" : "failed", batch.length)
    if (takes !== this.takes) this.options.onChange({ takes, status })
    this.takes = takes
  }

  private async post(body: string): Promise<ExportResult> {
    const { url, headers, timeoutMs = TIMEOUT_MS, retryAfterMs } = this.options
    const abort = new AbortController()
    this.cutShort = () => abort.abort()
    const timer = setTimeout(this.cutShort, timeoutMs)
    timer.unref()
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body,
        // The headers may hold a credential, which is for this address only.
        redirect: "manual",
        signal: abort.signal,
      })
      await response.body?.cancel()
      return { status: response.status, retryAfterMs: retryAfterMs(response.headers) }
    } catch {
      return {}
    } finally {
      clearTimeout(timer)
    }
  }

  /** Waits before a second try; false where there is no time for one. */
  private pause(requestedMs: number | undefined): Promise<boolean> {
    if (this.over) return Promise.resolve(false)
    const ms = Math.min(requestedMs ?? this.options.retryMs ?? RETRY_MS, MAX_RETRY_MS)
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(true), ms)
      timer.unref()
      this.cutShort = () => {
        clearTimeout(timer)
        resolve(false)
      }
    })
  }
}

/** There was no response, or one that allows a retry. */
function mayRetry({ status }: ExportResult): boolean {
  return status === undefined || status === 429 || status >= 500
}
