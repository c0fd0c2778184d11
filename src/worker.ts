// The worker thread's composition root: reads and translates the requests that are too large for the event loop.
import { asGatewayError, type ErrorDetails } from "./canonical/error.ts"
import type { ErrorCode } from "./canonical/error-codes.ts"
import { readLargeText, type SpokenTo } from "./exchange/request.ts"
import {
  type TranslatedRequest,
  type TranslateTask,
  translateRequest,
  type WantedMedia,
} from "./exchange/translate-request.ts"
import type { Reading } from "./protocols/contract.ts"
import { codecs, protocols } from "./protocols.ts"
import { answerTasks } from "./transport/off-loop.ts"

export interface ReadTask extends SpokenTo {
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

function read({ protocol, envelope, bytes }: ReadTask): Reading {
  const spoken = protocols.find(({ id }) => id === protocol)
  if (!spoken) throw new Error(`no protocol ${protocol}`)
  return readLargeText(new TextDecoder().decode(bytes), { protocol: spoken, envelope })
}

answerTasks((task: ReadTask | LargeTranslateTask): WorkerResult<Reading | TranslatedRequest | WantedMedia> => {
  try {
    return { result: "bytes" in task ? read(task) : translateRequest(JSON.parse(task.text), task.translate, codecs) }
  } catch (thrown) {
    const { code, message, owner, param } = asGatewayError(thrown)
    return { code, message, details: { owner, param } }
  }
})
