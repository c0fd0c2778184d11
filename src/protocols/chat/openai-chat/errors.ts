// Errors of a chat completions stream; the shape is OpenAI's own.
import type { GatewayError } from "../../../canonical/gateway-error.ts"
import { encodeByteText } from "../../../transport/json/byte-text.ts"
import { encodeSse } from "../../../transport/streams/sse.ts"
import { encodeError } from "../../openai/openai-errors.ts"

/** No `[DONE]` follows: clients would consider the stream complete. */
export function errorFrame(error: GatewayError): string {
  return encodeByteText(encodeSse({ data: JSON.stringify(encodeError(error)) }))
}
