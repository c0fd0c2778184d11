// trivium receipt ID: shows a request's cost, how it was calculated, and where the request was routed.
import { Command } from "commander"
import type { Json } from "../../canonical/json.ts"
import { type JsonFlags, withAdminFlags } from "../command-flags.ts"
import type { ReceiptResponse } from "../ledger-responses.ts"
import { formatTable, print } from "../print.ts"
import { type OpenAdmin, withAdmin } from "../remote-admin.ts"

export function receiptCommand(open: OpenAdmin): Command {
  return withAdminFlags(new Command("receipt").description("show what a request cost and how the cost was calculated"))
    .argument("<id>", "x-request-id of the response")
    .option("--json", "print JSON")
    .action((id: string, flags: JsonFlags) =>
      withAdmin(open, flags, async ({ ledger }) => {
        const receipt = await ledger.receipt(id)
        print(flags.json ? JSON.stringify(receipt) : describeReceipt(receipt))
      }),
    )
}

function describeReceipt(receipt: ReceiptResponse): string {
  const { facts } = receipt
  const parts = [columns(bookedRows(receipt)), describeFormula(receipt)]
  if (facts === null)
    parts.push("No further details are stored: they were deleted after the retention period, or never recorded.")
  else
    parts.push(columns(Object.entries(facts).map(([name, value]) => [name.replaceAll("_", " "), formatValue(value)])))
  return parts.filter((part) => part !== "").join("\n\n")
}

function bookedRows(receipt: ReceiptResponse): string[][] {
  const { model, provider, written_off, in_suspense, owed, returned } = receipt
  return [
    ["receipt", receipt.id],
    ["time", receipt.time],
    ["tenant", receipt.tenant],
    ["key", receipt.key],
    ["outcome", receipt.outcome],
    ...(model === null ? [] : [["model", model]]),
    ...(provider === null ? [] : [["provider", provider]]),
    ["cost", `${receipt.cost} USD`],
    ["paid", `${receipt.paid} USD`],
    ...(written_off === "0" ? [] : [["written off", `${written_off} USD`]]),
    ...(in_suspense === "0" ? [] : [["in suspense", `${in_suspense} USD`]]),
    ...(owed === undefined ? [] : [["owed", `${owed} USD`]]),
    ...(returned === undefined ? [] : [["returned", `${returned} USD`]]),
  ]
}

function describeFormula({ formula, price_version, recomputed_cost, as_booked }: ReceiptResponse): string {
  if (recomputed_cost === null) return ""
  const rows = formula.map(({ bucket, units, price, tier, amount }) => {
    const per = bucket === "per_image" ? "each" : "per million"
    return [bucket, String(units), `${price} ${per}${tier === null ? "" : ` (above ${tier} input tokens)`}`, amount]
  })
  const sum = `${recomputed_cost} USD by price version ${price_version}, rounded up to a nano-USD`
  const verdict = as_booked ? "matches the booked amount" : "does NOT match the booked amount"
  return `${formatTable(["BUCKET", "UNITS", "PRICE", "USD"], rows)}\n\n${sum}: ${verdict}`
}

/** Prints one list item per line, and the members of an object on one line. */
function formatValue(value: Json): string {
  if (typeof value !== "object" || value === null) return String(value)
  if (Array.isArray(value)) return value.map(formatValue).join("\n") || "none"
  const members = Object.entries(value).map(([name, each]) => `${name} ${formatValue(each)}`)
  return members.join(", ") || "none"
}

/** Names on the left; a value of several lines stays on the right. */
function columns(rows: readonly (readonly string[])[]): string {
  const width = Math.max(0, ...rows.map(([name = ""]) => name.length)) + 2
  return rows
    .map(([name = "", value = ""]) => name.padEnd(width) + value.replaceAll("\n", `\n${" ".repeat(width)}`))
    .join("\n")
}
