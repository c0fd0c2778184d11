// Plays the acts of an answer in this process: what fetch would have given for them on a network.
import type { HeadStep, ResponseStep } from "./response-steps.ts"

export interface ResponsePlayback {
  readonly steps: Iterator<ResponseStep>
  /** To be called when the caller leaves before the end. */
  onClientGone(): void
}

/** Rejects where no answer comes; a body that breaks fails when it is read to there. */
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

/** One write for each read; `begun` are acts that were looked at already. */
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
    // Nothing is made before it is read.
    { highWaterMark: 0 },
  )
}

function nextOf(steps: Iterator<ResponseStep>): ResponseStep {
  const { done, value } = steps.next()
  return done ? { kind: "end", isFault: false } : value
}

/** Lets time pass as the acts want it; what has no end of its own ends with the signal. */
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

/** Resolves after a time, where one is given; rejects with the signal's reason. */
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

/** What fetch fails with for a connection that was closed or reset, before or amid an answer. */
function connectionLost(): TypeError {
  return Object.assign(new TypeError("ECONNRESET: The socket connection was closed unexpectedly."), {
    code: "ECONNRESET",
  })
}
