// trivium tenants: create, list, update, topup.
import { Command } from "commander"
import type { TenantView } from "../../access/views/tenant-view.ts"
import { type JsonFlags, withAdminFlags } from "../command-flags.ts"
import { formatLimits, type GrantFlags, toGrantInput, withGrantFlags } from "../grant-flags.ts"
import { describeTopUp, formatTable, print } from "../print.ts"
import { type OpenAdmin, withAdmin } from "../remote-admin.ts"
import { warnOfScope } from "../scope-warnings.ts"
import type { ListGatewayModels } from "./models.ts"

type TenantFlags = JsonFlags & GrantFlags

export function tenantsCommand(open: OpenAdmin, listModels: ListGatewayModels): Command {
  const command = new Command("tenants").description("manage tenants and the limits their keys share")
  const add = (name: string, description: string) =>
    withAdminFlags(command.command(name).description(description)).option("--json", "print JSON")

  withGrantFlags(add("create <name>", "create a tenant"), { rpm: "none" }).action((name: string, flags: TenantFlags) =>
    withAdmin(open, flags, async ({ tenants }) => {
      printTenant(await tenants.create({ name, ...toGrantInput(flags) }), "Created", flags)
      await warnOfScope(flags, listModels)
    }),
  )
  add("list", "list tenants").action((flags: JsonFlags) =>
    withAdmin(open, flags, async ({ tenants }) => printTenants(await tenants.list(), flags)),
  )
  withGrantFlags(add("update <name>", "change a tenant's limits"), { rpm: "none" }).action(
    (name: string, flags: TenantFlags) =>
      withAdmin(open, flags, async ({ tenants }) => {
        printTenant(await tenants.update(name, toGrantInput(flags)), "Changed", flags)
        await warnOfScope(flags, listModels)
      }),
  )
  add("topup <name> <usd>", "add to a tenant's balance; from then on its keys can spend only the balance").action(
    (name: string, usd: string, flags: JsonFlags) =>
      withAdmin(open, flags, async ({ tenants }) => {
        const tenant = await tenants.topUp(name, { usd })
        print(flags.json ? JSON.stringify(tenant) : describeTopUp(tenant.name, tenant))
      }),
  )
  return command
}

function printTenant(tenant: TenantView, what: string, { json }: JsonFlags): void {
  print(json ? JSON.stringify(tenant) : `${what} ${tenant.name}.`)
}

function printTenants(tenants: readonly TenantView[], { json }: JsonFlags): void {
  if (json) print(JSON.stringify(tenants))
  else if (tenants.length === 0) print("No tenants exist. Create one: trivium tenants create NAME")
  else print(formatTable(["NAME", "MODELS", "PROTOCOLS", "LIMITS"], tenants.map(tenantRow)))
}

function tenantRow(tenant: TenantView): string[] {
  const { name, models, protocols } = tenant
  return [name, models?.join(",") ?? "all", protocols?.join(",") ?? "all", formatLimits(tenant, tenant) || "none"]
}
