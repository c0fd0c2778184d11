// Makes several upstream calls for one request, a few at a time. The first failure ends the others, and its response
// becomes the response to all.
import { Abort } from "../../transport/abort.ts"
import type { SendRequest, UpstreamRequest } from "../../transport/http-client.ts"
import type { UpstreamResponse } from "../../transport/http-response.ts"
import { readAll } from "../../transport/read-all.ts"

const AT_ONCE = 4
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

export interface CallBatch {
  readonly count: number
  /** What a call carries, written when it is made. */
  body(index: number): UpstreamRequest["body"]
  /** Whether this is a sound answer to it. */
  take(index: number, bytes: Uint8Array): boolean
}

/** Makes them all in the place of one. */
export function sendParallelCalls(calls: CallBatch, send: SendRequest): SendRequest {
  return (outgoing) => new ParallelCalls(calls, send, outgoing).answer()
}

class ParallelCalls {
  private readonly aborts = new Set<Abort>()
  private next = 0
  private failed: UpstreamResponse | undefined

  constructor(
    private readonly calls: CallBatch,
    private readonly send: SendRequest,
    private readonly outgoing: UpstreamRequest,
  ) {}

  async answer(): Promise<UpstreamResponse> {
    const { abort } = this.outgoing
    if (abort.aborted) throw abort.reason
    abort.onAbort = () => this.end(abort.reason)
    const workers = Array.from({ length: Math.min(AT_ONCE, this.calls.count) }, () => this.work())
    try {
      await Promise.all(workers)
    } catch (thrown) {
      this.next = this.calls.count
      this.end(thrown)
      await Promise.allSettled(workers)
      if (!this.failed) throw thrown
    }
    return this.failed ?? new Response("{}")
  }

  private async work(): Promise<void> {
    while (this.next < this.calls.count) {
      const index = this.next++
      const abort = new Abort()
      this.aborts.add(abort)
      const failed = await this.failureOf(index, abort)
      // What it says of its failure is still to be read.
      if (failed && !this.failed) this.fail(failed, abort)
      else this.aborts.delete(abort)
    }
  }

  /** Undefined where it was answered well. */
  private async failureOf(index: number, abort: Abort): Promise<UpstreamResponse | undefined> {
    const answer = await this.send({ ...this.outgoing, body: this.calls.body(index), abort })
    if (!answer.ok) return answer
    const bytes = await readAll(answer, MAX_ANSWER_BYTES)
    return this.calls.take(index, bytes) ? undefined : new Response(new Uint8Array(bytes))
  }

  private fail(answer: UpstreamResponse, own: Abort): void {
    this.failed = answer
    this.next = this.calls.count
    this.aborts.delete(own)
    this.end(new Error("another call of the same request failed"))
    this.aborts.add(own)
  }

  private end(reason: unknown): void {
    for (const abort of this.aborts) abort.abort(reason)
  }
}
