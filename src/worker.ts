// The worker thread's composition root: reads the requests that are too large for the event loop.
import { asGatewayError, type ErrorDetails } from "./canonical/error.ts"
import type { ErrorCode } from "./canonical/error-codes.ts"
import { readText, type SpokenTo } from "./exchange/request.ts"
import type { Reading } from "./protocols/contract.ts"
import { protocols } from "./protocols.ts"
import { answerTasks } from "./transport/off-loop.ts"

export interface ReadTask extends SpokenTo {
  readonly bytes: Uint8Array
}

/** A GatewayError does not survive the way between threads; its parts do. */
export type ReadResult =
  | { readonly reading: Reading }
  | { readonly code: ErrorCode; readonly message: string; readonly details: ErrorDetails }

answerTasks(({ protocol, envelope, bytes }: ReadTask): ReadResult => {
  try {
    const spoken = protocols.find(({ id }) => id === protocol)
    if (!spoken) throw new Error(`no protocol ${protocol}`)
    return { reading: readText(new TextDecoder().decode(bytes), { protocol: spoken, envelope }) }
  } catch (thrown) {
    const { code, message, owner, param } = asGatewayError(thrown)
    return { code, message, details: { owner, param } }
  }
})
