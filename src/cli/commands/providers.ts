// trivium providers: list, add, remove, check.
import { Command } from "commander"
import { describeFindings } from "../check-accounts.ts"
import { type JsonFlags, withAdminFlags } from "../command-flags.ts"
import { formatTable, print } from "../print.ts"
import type { ProviderResponse } from "../provider-response.ts"
import { readSecret } from "../read-secret.ts"
import { type OpenAdmin, withAdmin } from "../remote-admin.ts"

interface ProviderAddFlags extends JsonFlags {
  readonly type?: string
  readonly baseUrl?: string
  readonly region?: string
  readonly resource?: string
  readonly apiVersion?: string
  readonly keyFile?: string
}

export function providersCommand(open: OpenAdmin): Command {
  const command = new Command("providers").description("store, list, check and remove providers' credentials")
  const add = (name: string, description: string) =>
    withAdminFlags(command.command(name).description(description)).option("--json", "print JSON")

  add("list", "list configured and stored providers").action((flags: JsonFlags) =>
    withAdmin(open, flags, async ({ providers }) => printProviders(await providers.list(), flags)),
  )
  add("add <name>", "store a provider's API key, read from standard input")
    .option("--key-file <file>", "read the key from a file")
    .option("--type <type>", "provider type, if the provider is not in the configuration (default: its name)")
    .option("--base-url <url>", "base URL, if it is not the type's default")
    .option("--region <region>", "region, such as us-east-1 (bedrock)")
    .option("--resource <resource>", "resource name (azure)")
    .option("--api-version <version>", "API version (azure)")
    .action((name: string, flags: ProviderAddFlags) => addProvider(open, { name, flags }))
  add("remove <name>", "remove a stored key").action((name: string, flags: JsonFlags) =>
    withAdmin(open, flags, async ({ providers }) => {
      const removed = await providers.remove(name)
      print(flags.json ? JSON.stringify(removed) : describeRemoved(removed))
    }),
  )
  add("check <name>", "check that a provider accepts its credential").action((name: string, flags: JsonFlags) =>
    withAdmin(open, flags, async ({ providers }) => {
      const report = await providers.check(name)
      print(flags.json ? JSON.stringify(report) : describeFindings(report.providers))
      if (!report.sound) process.exitCode = 1
    }),
  )
  return command
}

async function addProvider(open: OpenAdmin, { name, flags }: { name: string; flags: ProviderAddFlags }): Promise<void> {
  const { keyFile: file, type, baseUrl, region, resource, apiVersion } = flags
  const api_key = await readSecret({ file, prompt: `API key of ${name}: ` })
  const settings = {
    ...(type !== undefined && { type }),
    ...(baseUrl !== undefined && { base_url: baseUrl }),
    ...(region !== undefined && { region }),
    ...(resource !== undefined && { resource }),
    ...(apiVersion !== undefined && { api_version: apiVersion }),
  }
  await withAdmin(open, flags, async ({ providers }) => {
    const added = await providers.add(name, { api_key, ...settings })
    print(flags.json ? JSON.stringify(added) : describeAdded(added))
  })
}

function describeAdded({ id, address, source, variable }: ProviderResponse): string {
  if (source === "store") return `Stored the key of ${id} for ${address}. To check it: trivium providers check ${id}`
  const where = variable === null ? "the configuration file" : `the environment variable ${variable}`
  return `Stored the key of ${id}. It is not used while ${where} contains one.`
}

function describeRemoved({ id, source }: ProviderResponse): string {
  return `Removed the stored key of ${id}.${source === null ? "" : ` The key from the ${source} is used now.`}`
}

function printProviders(providers: readonly ProviderResponse[], { json }: JsonFlags): void {
  const shown = providers.filter(({ configured, stored_at }) => configured || stored_at !== null)
  if (json) print(JSON.stringify(shown))
  else if (shown.length === 0) print("No provider is configured or stored. To store a key: trivium providers add NAME")
  else print(formatTable(["NAME", "TYPE", "ADDRESS", "SOURCE", "KEY", "STORED"], shown.map(providerRow)))
}

function providerRow({ id, type, address, credential, source, variable, hint, stored_at }: ProviderResponse): string[] {
  const from = variable === null ? (source ?? credential) : `${source} (${variable})`
  const stored = stored_at?.slice(0, 16).replace("T", " ") ?? ""
  return [id, type, address ?? "", from, hint ?? "", stored]
}
