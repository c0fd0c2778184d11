// Reads and translates requests that are too large for the event loop in another thread; a part of the composition root.
import { GatewayError } from "./canonical/gateway-error.ts"
import type { ExchangeDeps } from "./exchange/exchange-deps.ts"
import type { TranslatedRequest, WantedMedia } from "./exchange/lanes/translate-request.ts"
import type { RequestSummary } from "./protocols/contract.ts"
import { TaskWorker } from "./transport/event-loop/task-worker.ts"
import type { LargeTranslateTask, ReadRequestTask, WorkerResult } from "./worker.ts"

export function largeRequestWorkers(): Pick<ExchangeDeps, "readLarge" | "translateLarge"> {
  const offLoop = new TaskWorker({ module: new URL("./worker.ts", import.meta.url) })
  const run = async <Task, Result>(task: Task, transfer: ArrayBuffer[] = []): Promise<Result> => {
    const result = await offLoop.run<Task, WorkerResult<Result>>(task, transfer)
    if ("result" in result) return result.result
    throw new GatewayError(result.code, result.message, result.details)
  }
  return {
    readLarge: (bytes, source) => run<ReadRequestTask, RequestSummary>({ ...source, bytes }, [bytes.buffer]),
    translateLarge: (text, translate) => run<LargeTranslateTask, TranslatedRequest | WantedMedia>({ text, translate }),
  }
}
