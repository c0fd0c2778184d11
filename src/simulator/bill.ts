// What the simulator would charge: one line for each call of which it has served anything.
import { openSync, writeSync } from "node:fs"
import type { Act, Ending } from "./acts.ts"
import type { Charge } from "./call.ts"

export interface Bill {
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

const MAX_KEPT = 10_000

/** The last bills in memory, and all of them in a file where one is named. */
export class BillLog {
  readonly #kept: Bill[] = []
  readonly #file: number | undefined

  constructor({ file }: { file?: string | undefined } = {}) {
    this.#file = file === undefined ? undefined : openSync(file, "a")
  }

  get bills(): readonly Bill[] {
    return this.#kept.slice(-MAX_KEPT)
  }

  /** On its way to the disk when this returns: whoever is killed after it cannot hide the call. */
  readonly add = (bill: Bill): void => {
    if (this.#file !== undefined) writeSync(this.#file, `${JSON.stringify(bill)}\n`)
    this.#kept.push(bill)
    if (this.#kept.length >= 2 * MAX_KEPT) this.#kept.splice(0, MAX_KEPT)
  }
}

interface Metered {
  readonly charge: Charge | undefined
  readonly path: string
  readonly requestId: string
  readonly onBill: (bill: Bill) => void
}

/** Counts what leaves, and writes the bill before the last of it does. */
export class Meter {
  readonly #metered: Metered
  #outputTokens = 0
  #isClosed = false

  constructor(metered: Metered) {
    this.#metered = metered
  }

  /** The same acts; each write waits for the act after it, to know whether it is the last. */
  *watch(acts: Iterable<Act>): Generator<Act> {
    let held: Act | undefined
    for (const act of acts) {
      if (isEnding(act)) this.#close(act.isFault ? "fault" : "complete")
      if (held) yield held
      held = undefined
      if (act.kind === "write") {
        this.#outputTokens += act.tokens
        held = act
      } else yield act
    }
  }

  /** The caller is gone, and nothing more will be sent. */
  left(): void {
    this.#close("client-gone")
  }

  #close(ended: Bill["ended"]): void {
    const { charge, path, requestId, onBill } = this.#metered
    if (this.#isClosed) return
    this.#isClosed = true
    // A vendor does not charge for an answer that it failed to begin.
    if (!charge || (ended === "fault" && this.#outputTokens === 0)) return
    onBill({
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

function isEnding(act: Act): act is Ending {
  return "isFault" in act
}
