// Connections that wait for the same thing, the one that has waited longest first. Each is in one list at most.

export interface ListWaiter<Each extends ListWaiter<Each>> {
  /** Links of the list it is in; private to the list. */
  list: DeadlineList<Each> | undefined
  before: Each | undefined
  behind: Each | undefined
  since: number
}

export class DeadlineList<Each extends ListWaiter<Each>> {
  size = 0
  private first: Each | undefined
  private last: Each | undefined

  constructor(readonly limitMs: number) {}

  get oldest(): Each | undefined {
    return this.first
  }

  /** From wherever it was to the end of this one. */
  enter(waiter: Each, nowMs: number): void {
    waiter.list?.leave(waiter)
    waiter.list = this
    waiter.since = nowMs
    waiter.before = this.last
    if (this.last) this.last.behind = waiter
    else this.first = waiter
    this.last = waiter
    this.size++
  }

  leave(waiter: Each): void {
    if (waiter.before) waiter.before.behind = waiter.behind
    else this.first = waiter.behind
    if (waiter.behind) waiter.behind.before = waiter.before
    else this.last = waiter.before
    waiter.list = undefined
    waiter.before = undefined
    waiter.behind = undefined
    this.size--
  }

  /** Those that have waited for too long; `act` has to take each out of the list. */
  expire(nowMs: number, act: (waiter: Each) => void): void {
    for (let each = this.first; each && nowMs - each.since >= this.limitMs; each = this.first) {
      this.leave(each)
      act(each)
    }
  }
}
