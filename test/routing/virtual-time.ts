// A clock that jumps from event to event.

interface TimedEvent {
  readonly at: number
  readonly number: number
  readonly run: () => void
}

export class VirtualTime {
  now = 0
  private readonly heap: TimedEvent[] = []
  private count = 0

  after(delayMs: number, run: () => void): void {
    const event = { at: this.now + delayMs, number: this.count++, run }
    let place = this.heap.length
    while (place > 0) {
      const parent = (place - 1) >> 1
      const above = this.heap[parent]
      if (!above || isBefore(above, event)) break
      this.heap[place] = above
      place = parent
    }
    this.heap[place] = event
  }

  /** Until nothing is left to happen. */
  run(): void {
    for (let event = this.take(); event; event = this.take()) {
      this.now = event.at
      event.run()
    }
  }

  private take(): TimedEvent | undefined {
    const first = this.heap[0]
    const last = this.heap.pop()
    if (!first || !last || this.heap.length === 0) return first
    let place = 0
    for (;;) {
      let child = 2 * place + 1
      const [left, right] = [this.heap[child], this.heap[child + 1]]
      if (!left) break
      if (right && isBefore(right, left)) child++
      const below = this.heap[child]
      if (!below || isBefore(last, below)) break
      this.heap[place] = below
      place = child
    }
    this.heap[place] = last
    return first
  }
}

function isBefore(one: TimedEvent, other: TimedEvent): boolean {
  return one.at < other.at || (one.at === other.at && one.number < other.number)
}
