// Amounts in USD as operators write them.
import { excerpt, GatewayError } from "../canonical/gateway-error.ts"
import { nanoOfUsd } from "../canonical/usd.ts"

/** Below it, sums of many amounts stay within a 64-bit integer. */
const MAX_WHOLE_DIGITS = 8

/** The nano-USD of an amount such as `12.50`; `param` names the member in an error. */
export function parseUsd(text: string, param: string): bigint {
  const [whole = ""] = text.split(".", 1)
  const nano = whole.length > MAX_WHOLE_DIGITS ? undefined : nanoOfUsd(text)
  if (nano !== undefined) return nano
  const message = `\`${param}\` must be an amount in USD such as "12.50", below 100 million, not "${excerpt(text)}".`
  throw new GatewayError("invalid_parameter", message, { param })
}
