// Writes the operations of one turn of the event loop in one transaction, or of two turns if there are many. A single
// operation does not wait.
import { GatewayError } from "../canonical/gateway-error.ts"
import { StoreError } from "../store/contract.ts"

/** Runs within the transaction. It refuses with a GatewayError, before it has written anything. */
type TransactionWork = () => unknown

interface QueuedWork {
  readonly work: TransactionWork
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

class RefusedWork {
  constructor(readonly error: GatewayError) {}
}

/** Atomic; throws a StoreError if the store failed. */
type RunTransaction = <Result>(work: () => Result) => Result

/**
 * This many operations wait for the next turn, which brings about as many again: a transaction costs little more for
 * them.
 */
const MANY = 8
/** Maximum operations per transaction. */
const MAX_GROUP = 256

export class GroupCommit {
  private waiting: QueuedWork[] = []
  private scheduled = false

  constructor(private readonly transaction: RunTransaction) {}

  /** Resolves when it is durable. */
  add<Result>(work: () => Result): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    this.waiting.push({ work, resolve: resolve as (result: unknown) => void, reject })
    this.schedule()
    return promise
  }

  /** Writes all queued operations at once. */
  flush(): void {
    do this.write(this.waiting.splice(0, MAX_GROUP))
    while (this.waiting.length > 0)
  }

  private schedule(): void {
    if (this.scheduled) return
    this.scheduled = true
    // After the input of this turn, so that all of it is written together, and before the next poll.
    setImmediate(() => {
      const { length } = this.waiting
      if (length >= MANY && length < MAX_GROUP) setImmediate(() => this.writeWaiting())
      else this.writeWaiting()
    })
  }

  private writeWaiting(): void {
    this.scheduled = false
    this.write(this.waiting.splice(0, MAX_GROUP))
    if (this.waiting.length > 0) this.schedule()
  }

  private write(group: readonly QueuedWork[]): void {
    const outcomes: unknown[] = []
    try {
      this.transaction(() => {
        for (const { work } of group) outcomes.push(runWork(work))
      })
      for (let at = 0; at < group.length; at++) settleQueued(group[at] as QueuedWork, outcomes[at])
    } catch (thrown) {
      const faulty = group[outcomes.length]
      if (thrown instanceof StoreError) rejectAll(group, thrown)
      else if (faulty) this.writeWithout(faulty, { group, thrown })
      else if (group.length === 1) group[0]?.reject(thrown)
      // The group failed as a whole, at commit; written alone, each operation shows if it is the cause.
      else for (const each of group) this.write([each])
    }
  }

  /** Rejects the faulty operation alone: the transaction is undone, and the other operations are written again. */
  private writeWithout(faulty: QueuedWork, { group, thrown }: { group: readonly QueuedWork[]; thrown: unknown }): void {
    faulty.reject(thrown)
    this.write(group.filter((each) => each !== faulty))
  }
}

function runWork(work: TransactionWork): unknown {
  try {
    return work()
  } catch (thrown) {
    if (thrown instanceof GatewayError) return new RefusedWork(thrown)
    throw thrown
  }
}

function settleQueued({ resolve, reject }: QueuedWork, outcome: unknown): void {
  if (outcome instanceof RefusedWork) reject(outcome.error)
  else resolve(outcome)
}

function rejectAll(group: readonly QueuedWork[], cause: unknown): void {
  const message = "The gateway cannot write to its ledger at the moment. Try again."
  for (const { reject } of group) reject(new GatewayError("store_unavailable", message, { cause }))
}
