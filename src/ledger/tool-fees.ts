// Default fees of providers' hosted tools: one per kind and call, in USD.
import { type BilledTool, type BilledToolCalls, HOSTED_TOOLS } from "../canonical/hosted-calls.ts"
import { nanoOfUsd } from "../canonical/usd.ts"

/** The usual fees (November 2026). */
const FEES: Readonly<Record<BilledTool, string>> = {
  web_search: "0.01",
  grounding: "0.035",
  code_session: "0.03",
  file_search: "0.0025",
  image_generation: "0.04",
}

/** A number of calls of one tool, at a price each. */
export interface ToolFee {
  readonly tool: BilledTool
  readonly calls: number
  /** In USD. */
  readonly price: string
}

export function toolFees(calls: BilledToolCalls): ToolFee[] {
  return HOSTED_TOOLS.flatMap((tool) => {
    const count = calls[tool] ?? 0
    return count > 0 ? [{ tool, calls: count, price: FEES[tool] }] : []
  })
}

export function sumOfFees(fees: readonly ToolFee[]): bigint {
  return fees.reduce((sum, { calls, price }) => sum + BigInt(calls) * (nanoOfUsd(price) ?? 0n), 0n)
}
