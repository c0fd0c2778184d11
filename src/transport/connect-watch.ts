// Tells an upstream that is out of reach from one that thinks for long. `fetch` does not say when it has connected, so
// when no answer has come for a while the same address is tried with a plain socket: if that does not connect either by
// the limit, the upstream is out of reach.
import { connect } from "node:net"
import { Roster } from "./roster.ts"

/** One call whose answer has not begun. */
export interface Waiting {
  place: number
  readonly url: string
  readonly since: number
  readonly onUnreachable: (waiting: Waiting) => void
  probed: boolean
}

const SWEEP_MS = 100
/** The share of the limit after which the probe begins. */
const HEAD_START = 0.6

export class ConnectWatch {
  private readonly waiting = new Roster<Waiting>()
  private timer: ReturnType<typeof setInterval> | undefined

  constructor(private readonly limitMs: number) {}

  enter(waiting: Waiting): void {
    this.waiting.enter(waiting)
    this.timer ??= setInterval(() => this.sweep(), SWEEP_MS)
  }

  leave(waiting: Waiting): void {
    this.waiting.leave(waiting)
  }

  private sweep(): void {
    const late = performance.now() - this.limitMs * HEAD_START
    this.waiting.each((waiting) => {
      if (waiting.since < late && !waiting.probed) this.probe(waiting)
    })
    if (this.waiting.size > 0) return
    clearInterval(this.timer)
    this.timer = undefined
  }

  private probe(waiting: Waiting): void {
    waiting.probed = true
    const { hostname, port, protocol } = new URL(waiting.url)
    const host = hostname.replace(/^\[|\]$/g, "")
    const socket = connect({ host, port: Number(port) || (protocol === "https:" ? 443 : 80) })
    const left = waiting.since + this.limitMs - performance.now()
    const limit = setTimeout(() => {
      socket.destroy()
      if (waiting.place >= 0) waiting.onUnreachable(waiting)
    }, left)
    const settled = () => {
      clearTimeout(limit)
      socket.destroy()
    }
    socket.once("connect", settled).once("error", settled)
  }
}
