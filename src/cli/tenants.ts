// trivium tenants: create, list, update.
import { Command } from "commander"
import type { ShownTenant } from "../accounts/shown-tenant.ts"
import { withAdminFlags } from "./flags.ts"
import { askedGrantOf, type GrantFlags, limitsOf, withGrantFlags } from "./grant-flags.ts"
import { type Common, type OpenDesk, within } from "./keys.ts"
import { print, table } from "./print.ts"

type Flags = Common & GrantFlags

export function tenantsCommand(open: OpenDesk): Command {
  const command = new Command("tenants").description("limit what all keys of a tenant may do together")
  const add = (name: string, description: string) =>
    withAdminFlags(command.command(name).description(description)).option("--json", "print JSON")

  withGrantFlags(add("create <name>", "create a tenant"), { rpm: "none" }).action((name: string, flags: Flags) =>
    within(open, flags, async ({ tenants }) =>
      told(await tenants.create({ name, ...askedGrantOf(flags) }), "Created", flags),
    ),
  )
  add("list", "list the tenants that have limits").action((flags: Common) =>
    within(open, flags, async ({ tenants }) => printTenants(await tenants.list(), flags)),
  )
  withGrantFlags(add("update <name>", "change what a tenant's keys may do"), { rpm: "none" }).action(
    (name: string, flags: Flags) =>
      within(open, flags, async ({ tenants }) =>
        told(await tenants.update(name, askedGrantOf(flags)), "Changed", flags),
      ),
  )
  return command
}

function told(tenant: ShownTenant, what: string, { json }: Common): void {
  print(json ? JSON.stringify(tenant) : `${what} ${tenant.name}.`)
}

function printTenants(tenants: readonly ShownTenant[], { json }: Common): void {
  if (json) print(JSON.stringify(tenants))
  else if (tenants.length === 0) print("No tenant has limits. Create one: trivium tenants create NAME")
  else print(table(["NAME", "MODELS", "PROTOCOLS", "LIMITS"], tenants.map(row)))
}

function row(tenant: ShownTenant): string[] {
  const { name, models, protocols } = tenant
  return [name, models?.join(",") ?? "all", protocols?.join(",") ?? "all", limitsOf(tenant) || "none"]
}
