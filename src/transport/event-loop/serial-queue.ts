// Runs tasks one after the other, in the order they came, and lets the event loop turn between them.

export class SerialQueue {
  private last: Promise<unknown> = Promise.resolve()

  run<Result>(task: () => Promise<Result>): Promise<Result> {
    const result = this.last.then(task)
    const turned = () => new Promise((resolve) => setImmediate(resolve))
    this.last = result.then(turned, turned)
    return result
  }
}
