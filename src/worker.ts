// The worker thread's composition root: reads and translates the requests that are too large for the event loop.

import type { ErrorCode } from "./canonical/error-codes.ts"
import { asGatewayError, type ErrorDetails } from "./canonical/gateway-error.ts"
import {
  type TranslatedRequest,
  type TranslateTask,
  translateRequest,
  type WantedMedia,
} from "./exchange/lanes/translate-request.ts"
import { type LargeRequestSource, readLargeText } from "./exchange/read-request.ts"
import type { RequestSummary } from "./protocols/contract.ts"
import { codecs, protocols } from "./protocols.ts"
import { answerTasks } from "./transport/event-loop/task-worker.ts"

export interface ReadRequestTask extends LargeRequestSource {
  readonly bytes: Uint8Array
}

export interface LargeTranslateTask {
  readonly text: string
  readonly translate: TranslateTask
}

/** A GatewayError does not survive the way between threads; its parts do. */
export type WorkerResult<Result> =
  | { readonly result: Result }
  | { readonly code: ErrorCode; readonly message: string; readonly details: ErrorDetails }

function readLargeRequest({ protocol, envelope, bytes }: ReadRequestTask): RequestSummary {
  const client = protocols.find(({ id }) => id === protocol)
  if (!client) throw new Error(`no protocol ${protocol}`)
  return readLargeText(new TextDecoder().decode(bytes), { protocol: client, envelope })
}

answerTasks(
  (task: ReadRequestTask | LargeTranslateTask): WorkerResult<RequestSummary | TranslatedRequest | WantedMedia> => {
    try {
      return {
        result:
          "bytes" in task ? readLargeRequest(task) : translateRequest(JSON.parse(task.text), task.translate, codecs),
      }
    } catch (thrown) {
      const { code, message, owner, param } = asGatewayError(thrown)
      return { code, message, details: { owner, param } }
    }
  },
)
