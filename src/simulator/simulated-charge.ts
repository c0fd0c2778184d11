// What the simulator would charge: one line for each call of which it has served anything.
import { openSync, writeSync } from "node:fs"
import type { EndStep, ResponseStep } from "./playback/response-steps.ts"
import type { ExpectedCharge } from "./simulated-call.ts"

export interface SimulatedCharge {
  /** The answer's own id, or the request id where it has none. */
  readonly id: string
  /** What the answer's request-id header says. */
  readonly request_id: string
  readonly path: string
  readonly model: string
  /** When it ended. */
  readonly time: string
  readonly input_tokens: number
  /** Of a call that broke off, those that had left by then. */
  readonly output_tokens: number
  readonly ended: "complete" | "client-gone" | "fault"
}

const MAX_RECENT = 10_000

/** The last bills in memory, and all of them in a file where one is named. */
export class ChargeLog {
  readonly #recent: SimulatedCharge[] = []
  readonly #file: number | undefined

  constructor({ file }: { file?: string | undefined } = {}) {
    this.#file = file === undefined ? undefined : openSync(file, "a")
  }

  get charges(): readonly SimulatedCharge[] {
    return this.#recent.slice(-MAX_RECENT)
  }

  /** On its way to the disk when this returns: whoever is killed after it cannot hide the call. */
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

/** Counts what leaves, and writes the bill before the last of it does. */
export class ChargeMeter {
  readonly #metered: MeteredCall
  #outputTokens = 0
  #isClosed = false

  constructor(metered: MeteredCall) {
    this.#metered = metered
  }

  /** The same acts; each write waits for the act after it, to know whether it is the last. */
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

  /** The caller is gone, and nothing more will be sent. */
  onClientGone(): void {
    this.#close("client-gone")
  }

  #close(ended: SimulatedCharge["ended"]): void {
    const { charge, path, requestId, onCharge } = this.#metered
    if (this.#isClosed) return
    this.#isClosed = true
    // A vendor does not charge for an answer that it failed to begin.
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
