// trivium ledger suspense: lists, settles and returns amounts that requests held when the gateway was killed.
import { Command } from "commander"
import { type JsonFlags, withAdminFlags } from "../command-flags.ts"
import type { ReceiptResponse, SuspensePageResponse } from "../ledger-responses.ts"
import { formatTable, print } from "../print.ts"
import { type AdminApi, type OpenAdmin, withAdmin } from "../remote-admin.ts"

type SuspenseListing = Pick<SuspensePageResponse, "suspense" | "count" | "total">

export function suspenseCommand(open: OpenAdmin): Command {
  const command = new Command("suspense").description(
    "list, settle or return amounts left in suspense by killed gateways",
  )
  const add = (name: string, { description, isDefault = false }: { description: string; isDefault?: boolean }) =>
    withAdminFlags(command.command(name, { isDefault }).description(description)).option("--json", "print JSON")

  add("list", { description: "list requests with money in suspense (the default)", isDefault: true }).action(
    (flags: JsonFlags) =>
      withAdmin(open, flags, async ({ suspense }) => {
        const all = await listAll(suspense)
        print(flags.json ? JSON.stringify(all) : describeList(all))
      }),
  )
  add("settle <id>", { description: "charge the amount a request has in suspense" })
    .option("--usd <amount>", "charge only this amount and return the rest")
    .action((id: string, { usd, ...flags }: JsonFlags & { usd?: string }) =>
      withAdmin(open, flags, async ({ suspense }) =>
        printEnded(await suspense.settle(id, usd === undefined ? {} : { usd }), flags),
      ),
    )
  add("return [id]", { description: "return a request's amount in suspense to the paying account" })
    .option("--all", "return all amounts in suspense")
    .action((id: string | undefined, { all, ...flags }: JsonFlags & { all?: true }) =>
      withAdmin(open, flags, async ({ suspense }) => {
        if ((id === undefined) === (all === undefined)) throw new Error("Give the id of one request, or --all.")
        if (id !== undefined) return printEnded(await suspense.return(id), flags)
        const done = await suspense.returnAll()
        print(flags.json ? JSON.stringify(done) : `Returned ${done.amount} USD of ${done.returned} requests.`)
      }),
    )
  return command
}

async function listAll(suspense: AdminApi["suspense"]): Promise<SuspenseListing> {
  const rows: SuspensePageResponse["suspense"][number][] = []
  for (let after: string | undefined; ; ) {
    const { suspense: more, next, count, total } = await suspense.list(after === undefined ? {} : { after })
    rows.push(...more)
    if (next === null) return { suspense: rows, count, total }
    after = next
  }
}

function describeList({ suspense, count, total }: SuspenseListing): string {
  if (count === 0) return "Nothing is in suspense."
  const rows = suspense.map(({ id, tenant, key, amount, since, returns_at }) => [
    ...[id, tenant, key, amount, since, returns_at],
  ])
  return `${formatTable(["REQUEST", "TENANT", "KEY", "USD", "SINCE", "RETURNS AT"], rows)}\n\n${count} requests, ${total} USD`
}

function printEnded(receipt: ReceiptResponse, { json }: JsonFlags): void {
  const { id, cost, returned = "0" } = receipt
  print(json ? JSON.stringify(receipt) : `${id}: ${cost} USD charged, ${returned} USD returned.`)
}
