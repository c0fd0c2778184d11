// trivium tenants: create, list, update, topup.
import { Command } from "commander"
import type { ShownTenant } from "../accounts/shown-tenant.ts"
import { atDesk, type OpenDesk } from "./desk.ts"
import { type JsonFlags, withAdminFlags } from "./flags.ts"
import { askedGrantOf, type GrantFlags, limitsOf, withGrantFlags } from "./grant-flags.ts"
import type { ListModels } from "./models.ts"
import { print, table, toppedUp } from "./print.ts"
import { warnOfScope } from "./scope-warnings.ts"

type Flags = JsonFlags & GrantFlags

export function tenantsCommand(open: OpenDesk, listModels: ListModels): Command {
  const command = new Command("tenants").description("limit what all keys of a tenant may do and spend together")
  const add = (name: string, description: string) =>
    withAdminFlags(command.command(name).description(description)).option("--json", "print JSON")

  withGrantFlags(add("create <name>", "create a tenant"), { rpm: "none" }).action((name: string, flags: Flags) =>
    atDesk(open, flags, async ({ tenants }) => {
      told(await tenants.create({ name, ...askedGrantOf(flags) }), "Created", flags)
      await warnOfScope(flags, listModels)
    }),
  )
  add("list", "list the tenants that were created").action((flags: JsonFlags) =>
    atDesk(open, flags, async ({ tenants }) => printTenants(await tenants.list(), flags)),
  )
  withGrantFlags(add("update <name>", "change what a tenant's keys may do"), { rpm: "none" }).action(
    (name: string, flags: Flags) =>
      atDesk(open, flags, async ({ tenants }) => {
        told(await tenants.update(name, askedGrantOf(flags)), "Changed", flags)
        await warnOfScope(flags, listModels)
      }),
  )
  add("topup <name> <usd>", "add to what a tenant's keys may spend, which is limited from then on").action(
    (name: string, usd: string, flags: JsonFlags) =>
      atDesk(open, flags, async ({ tenants }) => {
        const tenant = await tenants.topUp(name, { usd })
        print(flags.json ? JSON.stringify(tenant) : toppedUp(tenant.name, tenant))
      }),
  )
  return command
}

function told(tenant: ShownTenant, what: string, { json }: JsonFlags): void {
  print(json ? JSON.stringify(tenant) : `${what} ${tenant.name}.`)
}

function printTenants(tenants: readonly ShownTenant[], { json }: JsonFlags): void {
  if (json) print(JSON.stringify(tenants))
  else if (tenants.length === 0) print("There are no tenants with limits. Create one: trivium tenants create NAME")
  else print(table(["NAME", "MODELS", "PROTOCOLS", "LIMITS"], tenants.map(row)))
}

function row(tenant: ShownTenant): string[] {
  const { name, models, protocols } = tenant
  return [name, models?.join(",") ?? "all", protocols?.join(",") ?? "all", limitsOf(tenant, tenant) || "none"]
}
