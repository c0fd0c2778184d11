// Plays a response's steps in this process, as the Response that `fetch` would return for them.
import type { HeadStep, ResponseStep } from "./response-steps.ts"

export interface ResponsePlayback {
  readonly steps: Iterator<ResponseStep>
  /** Called when the client leaves before the end. */
  onClientGone(): void
}

/** Rejects if no response comes; a body that breaks fails when it is read up to there. */
export async function playResponse({ steps, onClientGone }: ResponsePlayback, signal: AbortSignal): Promise<Response> {
  const clock = new PlaybackClock(signal)
  try {
    for (;;) {
      const step = nextOf(steps)
      if (step.kind === "head") return startResponse(step, { steps, onClientGone, clock, signal })
      await clock.pass(step)
    }
  } catch (thrown) {
    onClientGone()
    throw thrown
  }
}

interface FetchPlayback extends ResponsePlayback {
  readonly clock: PlaybackClock
  readonly signal: AbortSignal
}

function startResponse({ status, headers: stepHeaders, length }: HeadStep, playing: FetchPlayback): Response {
  const { steps } = playing
  if (length === undefined) return new Response(bodyOf(playing, []), { status, headers: stepHeaders })
  const headers = { ...stepHeaders, "content-length": String(length) }
  // A body in one piece needs no stream.
  const first = nextOf(steps)
  if (first.kind !== "write") return new Response(bodyOf(playing, [first]), { status, headers })
  const second = nextOf(steps)
  const body = second.kind === "end" ? Buffer.from(first.data as string) : bodyOf(playing, [first, second])
  return new Response(body, { status, headers })
}

/** A stream that makes one write per read; `begun` are steps that were already taken from `steps`. */
function bodyOf(
  { steps, onClientGone, clock, signal }: FetchPlayback,
  begun: ResponseStep[],
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let leave = () => {}
  const done = () => signal.removeEventListener("abort", leave)
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    for (;;) {
      const step = begun.shift() ?? nextOf(steps)
      if (step.kind === "write") {
        if (step.data.length === 0) continue
        return controller.enqueue(
          typeof step.data === "string" ? encoder.encode(step.data) : Uint8Array.from(step.data),
        )
      }
      if (step.kind === "end") {
        done()
        return controller.close()
      }
      await clock.pass(step)
    }
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        leave = () => {
          onClientGone()
          controller.error(signal.reason)
        }
        signal.addEventListener("abort", leave, { once: true })
      },
      pull,
      cancel() {
        done()
        onClientGone()
      },
    },
    // Nothing is generated before it is read.
    { highWaterMark: 0 },
  )
}

function nextOf(steps: Iterator<ResponseStep>): ResponseStep {
  const { done, value } = steps.next()
  return done ? { kind: "end", isFault: false } : value
}

/** Waits as the steps require; a stall ends only with the signal. */
class PlaybackClock {
  readonly #signal: AbortSignal
  #dueAt = performance.now()

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  async pass(step: ResponseStep): Promise<void> {
    if (step.kind === "cut" || step.kind === "reset") throw connectionLost()
    if (step.kind === "stall") await pauseFor(undefined, this.#signal)
    if (step.kind !== "wait") return
    this.#dueAt += step.ms
    const ms = this.#dueAt - performance.now()
    if (ms > 0) await pauseFor(ms, this.#signal)
  }
}

/** Resolves after `ms`, if given; rejects with the signal's reason. */
function pauseFor(ms: number | undefined, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = ms === undefined ? undefined : setTimeout(ended, ms)
    function ended(): void {
      clearTimeout(timer)
      signal.removeEventListener("abort", ended)
      if (signal.aborted) reject(signal.reason)
      else resolve()
    }
    signal.addEventListener("abort", ended)
    if (signal.aborted) ended()
  })
}

/** The error that `fetch` raises for a connection that was closed or reset. */
function connectionLost(): TypeError {
  return Object.assign(new TypeError("ECONNRESET: The socket connection was closed unexpectedly."), {
    code: "ECONNRESET",
  })
}
