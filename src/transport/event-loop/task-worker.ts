// Runs a task in a worker thread, one at a time, so that a large input does not hold up everybody else. The thread is
// started on first need and ended when it has been idle, which gives its memory back.
import { parentPort, type Transferable, Worker } from "node:worker_threads"

export interface TaskWorkerOptions {
  /** The worker's module; it answers each task through `answerTasks`. */
  readonly module: URL
  readonly idleMs?: number
}

interface PendingTask {
  readonly resolve: (result: unknown) => void
  readonly reject: (cause: unknown) => void
}

interface TaskMessage {
  readonly id: number
  readonly task: unknown
}

interface ResultMessage {
  readonly id: number
  readonly result: unknown
}

export class TaskWorker {
  private readonly pending = new Map<number, PendingTask>()
  private worker: Worker | undefined
  private idleTimer: ReturnType<typeof setTimeout> | undefined
  private nextId = 0
  /** Whether the thread that runs now has answered: then it is loaded. */
  isWarm = false

  constructor(private readonly options: TaskWorkerOptions) {}

  /** `task` and its result must be plain data; `transfer` moves buffers instead of copying them. */
  run<Task, Result>(task: Task, transfer: Transferable[] = []): Promise<Result> {
    clearTimeout(this.idleTimer)
    const worker = this.start()
    const id = this.nextId++
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve: (result) => resolve(result as Result), reject })
      worker.postMessage({ id, task } satisfies TaskMessage, transfer)
    })
  }

  private start(): Worker {
    if (this.worker) return this.worker
    const worker = new Worker(this.options.module)
    worker.on("message", ({ id, result }: ResultMessage) => {
      this.isWarm = true
      const pending = this.pending.get(id)
      this.pending.delete(id)
      pending?.resolve(result)
      if (this.pending.size === 0) this.rest()
    })
    worker.on("error", (cause) => this.fail(cause))
    this.worker = worker
    return worker
  }

  private fail(cause: unknown): void {
    this.stop()
    for (const { reject } of this.pending.values()) reject(cause)
    this.pending.clear()
  }

  private rest(): void {
    clearTimeout(this.idleTimer)
    this.idleTimer = setTimeout(() => this.stop(), this.options.idleMs ?? 30_000)
    this.idleTimer.unref()
  }

  private stop(): void {
    void this.worker?.terminate()
    this.isWarm = false
    this.worker = undefined
  }
}

/** For the worker's module: answers each task with what `handle` returns. `handle` must not throw. */
export function answerTasks<Task, Result>(handle: (task: Task) => Result): void {
  parentPort?.on("message", ({ id, task }: TaskMessage) => {
    parentPort?.postMessage({ id, result: handle(task as Task) } satisfies ResultMessage)
  })
}
