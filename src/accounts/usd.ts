// Amounts of money: whole nano-USD within, decimal USD in what people write and read.
import { excerpt, GatewayError } from "../canonical/error.ts"

const DECIMALS = 9
/** Below it, sums of many amounts stay within a 64-bit integer. */
const FORM = /^(\d{1,8})(?:\.(\d{1,9}))?$/

/** The nano-USD of an amount such as `12.50`; `param` names where it stood. */
export function readUsd(text: string, param: string): bigint {
  const [, whole, fraction = ""] = FORM.exec(text) ?? []
  if (whole !== undefined) return BigInt(whole + fraction.padEnd(DECIMALS, "0"))
  const message = `\`${param}\` must be an amount in USD such as "12.50", below 100 million, not "${excerpt(text)}".`
  throw new GatewayError("invalid_parameter", message, { param })
}

export function writeUsd(nanoUsd: bigint): string {
  const sign = nanoUsd < 0n ? "-" : ""
  const digits = String(nanoUsd < 0n ? -nanoUsd : nanoUsd).padStart(DECIMALS + 1, "0")
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, "")
  return sign + digits.slice(0, -DECIMALS) + (fraction && `.${fraction}`)
}
