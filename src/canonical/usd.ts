// Nano-USD and decimal dollars: exact in both directions.

const DECIMALS = 9

/** A price in USD as catalogue and configuration write it, such as "0.075". */
export const PRICE_PATTERN = /^(0|[1-9]\d{0,5})(\.\d{1,9})?$/

/** Parses a decimal such as "12.50" to nano-USD; undefined if it is not one, or finer than a nano-USD. */
export function nanoOfUsd(text: string): bigint | undefined {
  const [, whole, fraction = ""] = /^(\d{1,9})(?:\.(\d{1,9}))?$/.exec(text) ?? []
  return whole === undefined ? undefined : BigInt(whole + fraction.padEnd(DECIMALS, "0"))
}

/** A decimal without needless zeros, such as "0.0125". */
export function usdOfNano(nano: bigint): string {
  const number = Number(nano)
  // Digits of a number are found sooner.
  const size = Number.isSafeInteger(number) ? Math.abs(number) : nano < 0n ? -nano : nano
  const digits = String(size).padStart(DECIMALS + 1, "0")
  const point = digits.length - DECIMALS
  let end = digits.length
  while (end > point && digits.charCodeAt(end - 1) === ZERO) end--
  const fraction = end === point ? "" : `.${digits.slice(point, end)}`
  return `${number < 0 ? "-" : ""}${digits.slice(0, point)}${fraction}`
}

const ZERO = 0x30
