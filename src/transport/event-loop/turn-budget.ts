// How much of what hosts send is worked on in one turn of the event loop, all connections together. What comes beyond that
// waits for the next turns, each connection in its turn, so that a host that floods one of them delays the others by no
// more than a turn's work.

/** At some hundred nanoseconds a byte, which is what the worst of streams cost, about 20 milliseconds. */
export const BYTES_PER_TURN = 64 * 1024
/** No more is worked on at once, of one connection; a socket hands out up to half a megabyte. */
export const SLICE_BYTES = 32 * 1024
/** What an event or a few take: those of other streams do not wait behind a flood. */
const SMALL_BYTES = 4096

export class TurnBudget {
  private left = BYTES_PER_TURN
  private waiting: (() => void)[] = []
  private isScheduled = false

  /** Whether so many bytes may be worked on now. If not, they may once their turn has come. */
  take(bytes: number): boolean {
    if (bytes > SMALL_BYTES && (this.left <= 0 || this.waiting.length > 0)) return false
    this.spend(bytes)
    return true
  }

  /** So many bytes are worked on, in a turn that was waited for. */
  spend(bytes: number): void {
    this.left -= bytes
    if (this.left <= 0) this.schedule()
  }

  /** Runs `work` in a later turn; the longest waiting comes first. */
  wait(work: () => void): void {
    this.waiting.push(work)
    this.schedule()
  }

  /** Resolves in a turn in which so many bytes may be worked on. */
  turn(bytes: number): Promise<void> {
    return new Promise((resolve) => {
      this.wait(() => {
        this.spend(bytes)
        resolve()
      })
    })
  }

  /** Only once something is spent or waits: an immediate in every turn would cost a system call in every turn. */
  private schedule(): void {
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(this.nextTurn)
  }

  private readonly nextTurn = (): void => {
    this.isScheduled = false
    this.left = BYTES_PER_TURN
    const { waiting } = this
    this.waiting = []
    let next = 0
    while (next < waiting.length && this.left > 0) waiting[next++]?.()
    if (next === waiting.length) return
    this.waiting = [...waiting.slice(next), ...this.waiting]
    this.schedule()
  }
}

/** Of this process. */
export const turnBudget = new TurnBudget()
