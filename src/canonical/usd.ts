// Nano-USD and decimal dollars: exact in both directions.

const NANO_PER_USD = 1_000_000_000n
const DECIMALS = 9

/** The nano-USD of a decimal such as "12.50"; undefined where it is none, or finer than a nano-USD. */
export function nanoOfUsd(text: string): bigint | undefined {
  const [, whole, fraction = ""] = /^(\d{1,9})(?:\.(\d{1,9}))?$/.exec(text) ?? []
  return whole === undefined ? undefined : BigInt(whole + fraction.padEnd(DECIMALS, "0"))
}

/** A decimal without needless zeros, such as "0.0125". */
export function usdOfNano(nano: bigint): string {
  const size = nano < 0n ? -nano : nano
  const fraction = String(size % NANO_PER_USD)
    .padStart(DECIMALS, "0")
    .replace(/0+$/, "")
  return `${nano < 0n ? "-" : ""}${size / NANO_PER_USD}${fraction && `.${fraction}`}`
}
