// The worker thread's composition root: reads the requests that are too large for the event loop.
import { asGatewayError, type ErrorDetails } from "./canonical/error.ts"
import type { ErrorCode } from "./canonical/error-codes.ts"
import { readText } from "./exchange/request.ts"
import type { ProtocolId, Reading } from "./protocols/contract.ts"
import { openaiChat } from "./protocols/openai-chat/openai-chat.ts"
import { answerTasks } from "./transport/off-loop.ts"

const protocols = [openaiChat]

export interface ReadTask {
  readonly protocol: ProtocolId
  readonly bytes: Uint8Array
}

/** A GatewayError does not survive the way between threads; its parts do. */
export type ReadResult =
  | { readonly reading: Reading }
  | { readonly code: ErrorCode; readonly message: string; readonly details: ErrorDetails }

answerTasks(({ protocol, bytes }: ReadTask): ReadResult => {
  try {
    const spoken = protocols.find(({ id }) => id === protocol)
    if (!spoken) throw new Error(`no protocol ${protocol}`)
    return { reading: readText(new TextDecoder().decode(bytes), spoken) }
  } catch (thrown) {
    const { code, message, owner, param } = asGatewayError(thrown)
    return { code, message, details: { owner, param } }
  }
})
