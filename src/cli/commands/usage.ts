// trivium usage: shows usage and cost per day, key, model and provider.
import { Command, InvalidArgumentError } from "commander"
import { omitUndefined } from "../../access/views/grant-view.ts"
import { nanoOfUsd, usdOfNano } from "../../canonical/usd.ts"
import { type JsonFlags, withAdminFlags } from "../command-flags.ts"
import type { UsageFilters, UsagePageResponse, UsageRowResponse } from "../ledger-responses.ts"
import { formatTable, print } from "../print.ts"
import { type AdminApi, type OpenAdmin, withAdmin } from "../remote-admin.ts"

type UsageFlags = JsonFlags & UsageFilters

export function usageCommand(open: OpenAdmin): Command {
  return withAdminFlags(new Command("usage").description("show usage and cost per day, key, model and provider"))
    .option("--from <date>", "first day, such as 2026-11-01 (UTC; default: the first of this month)", date)
    .option("--to <date>", "last day (default: today)", date)
    .option("--tenant <tenant>", "show only this tenant")
    .option("--key <id>", "show only this key, under its current tenant unless --tenant is given")
    .option("--model <model>", "show only this model")
    .option("--json", "print JSON")
    .action(({ from, to, tenant, key, model, ...flags }: UsageFlags) =>
      withAdmin(open, flags, async ({ ledger }) => {
        const pages = pagesOf(ledger, omitUndefined({ from, to, tenant, key, model }) as UsageFilters)
        await (flags.json ? printJson(pages) : printTables(pages))
      }),
    )
}

async function* pagesOf(
  ledger: AdminApi["ledger"],
  filters: UsageFilters,
): AsyncGenerator<readonly UsageRowResponse[]> {
  let after: string | null = null
  do {
    const page: UsagePageResponse = await ledger.usage(after === null ? filters : { ...filters, after })
    if (page.usage.length > 0) yield page.usage
    after = page.next
  } while (after !== null)
}

/** Reads page by page, because the full report may not fit in memory. */
async function printJson(pages: AsyncIterable<readonly UsageRowResponse[]>): Promise<void> {
  let before = "["
  for await (const rows of pages) {
    print(before + rows.map((row) => JSON.stringify(row)).join(",\n"))
    before = ","
  }
  print(before === "[" ? "[]" : "]")
}

const HEAD = ["DATE", "TENANT", "KEY", "MODEL", "PROVIDER", "REQUESTS", "INPUT", "OUTPUT", "USD"]

async function printTables(pages: AsyncIterable<readonly UsageRowResponse[]>): Promise<void> {
  let [requests, paidNano] = [0, 0n]
  for await (const rows of pages) {
    print(formatTable(HEAD, rows.map(cells)))
    for (const row of rows) {
      requests += row.requests
      paidNano += nanoOfUsd(row.paid) ?? 0n
    }
  }
  print(
    requests === 0
      ? "No usage in this period."
      : `\n${requests} ${requests === 1 ? "request" : "requests"}, ${usdOfNano(paidNano)} USD`,
  )
}

function cells(row: UsageRowResponse): string[] {
  const input = row.input + row.cache_read + row.cache_write + row.cache_write_1h + row.audio_input + row.image_input
  const output = row.output + row.reasoning + row.audio_output + row.image_output
  const { date: day, tenant, key, model, provider, requests, paid } = row
  return [day, tenant, key, model, provider, String(requests), String(input), String(output), paid]
}

function date(text: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return text
  throw new InvalidArgumentError("Give a date such as 2026-11-15.")
}
