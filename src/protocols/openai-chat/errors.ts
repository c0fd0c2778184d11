// Errors of a chat completions stream; the shape is OpenAI's own.
import type { GatewayError } from "../../canonical/error.ts"
import { encodeByteText } from "../../transport/byte-text.ts"
import { encodeSse } from "../../transport/sse.ts"
import { encodeError } from "../openai-error.ts"

/** No `[DONE]` after it: clients would take the stream for complete. */
export function errorFrame(error: GatewayError): string {
  return encodeByteText(encodeSse({ data: JSON.stringify(encodeError(error)) }))
}
