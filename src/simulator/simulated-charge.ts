// Records what the simulator would charge: one line for each call that it served, even in part.
import { openSync, writeSync } from "node:fs"
import type { EndStep, ResponseStep } from "./playback/response-steps.ts"
import type { ExpectedCharge } from "./simulated-call.ts"

export interface SimulatedCharge {
  /** The answer's own id, or the request id if it has none. */
  readonly id: string
  /** The value of the response's request-id header. */
  readonly request_id: string
  readonly path: string
  readonly model: string
  /** The end of the call. */
  readonly time: string
  readonly input_tokens: number
  /** For a call that broke off, the tokens sent until then. */
  readonly output_tokens: number
  readonly ended: "complete" | "client-gone" | "fault"
}

const MAX_RECENT = 10_000

/** The latest charges in memory, and all of them in a file if one is given. */
export class ChargeLog {
  readonly #recent: SimulatedCharge[] = []
  readonly #file: number | undefined

  constructor({ file }: { file?: string | undefined } = {}) {
    this.#file = file === undefined ? undefined : openSync(file, "a")
  }

  get charges(): readonly SimulatedCharge[] {
    return this.#recent.slice(-MAX_RECENT)
  }

  /** Writes synchronously, so that killing the process afterwards does not hide the call. */
  readonly add = (charge: SimulatedCharge): void => {
    if (this.#file !== undefined) writeSync(this.#file, `${JSON.stringify(charge)}\n`)
    this.#recent.push(charge)
    if (this.#recent.length >= 2 * MAX_RECENT) this.#recent.splice(0, MAX_RECENT)
  }
}

interface MeteredCall {
  readonly charge: ExpectedCharge | undefined
  readonly path: string
  readonly requestId: string
  readonly onCharge: (charge: SimulatedCharge) => void
}

/** Counts the tokens sent, and records the charge before the last write. */
export class ChargeMeter {
  readonly #metered: MeteredCall
  #outputTokens = 0
  #isClosed = false

  constructor(metered: MeteredCall) {
    this.#metered = metered
  }

  /** Passes the steps on; each write waits for the next step, which tells if it is the last. */
  *watch(steps: Iterable<ResponseStep>): Generator<ResponseStep> {
    let held: ResponseStep | undefined
    for (const step of steps) {
      if (isEnding(step)) this.#close(step.isFault ? "fault" : "complete")
      if (held) yield held
      held = undefined
      if (step.kind === "write") {
        this.#outputTokens += step.tokens
        held = step
      } else yield step
    }
  }

  /** Called when the client has gone. */
  onClientGone(): void {
    this.#close("client-gone")
  }

  #close(ended: SimulatedCharge["ended"]): void {
    const { charge, path, requestId, onCharge } = this.#metered
    if (this.#isClosed) return
    this.#isClosed = true
    // Vendors do not charge for an answer that failed before it began.
    if (!charge || (ended === "fault" && this.#outputTokens === 0)) return
    onCharge({
      id: charge.id ?? requestId,
      request_id: requestId,
      path,
      model: charge.model,
      time: new Date().toISOString(),
      input_tokens: charge.inputTokens,
      output_tokens: ended === "complete" ? charge.outputTokens : this.#outputTokens,
      ended,
    })
  }
}

function isEnding(step: ResponseStep): step is EndStep {
  return "isFault" in step
}
