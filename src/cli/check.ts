// trivium check: says what the configuration amounts to, and whether each provider takes its credential.
import type { Config } from "../config/config.ts"
import type { Account, Verdict } from "../providers/contract.ts"
import { type RoutingTable, targetsOf } from "../routing/plan.ts"
import { table as columns } from "./print.ts"

interface Finding extends Verdict {
  readonly provider: string
  readonly address: string
}

export async function checkAccounts(
  routing: RoutingTable & { readonly isDemo: boolean },
  config: Config,
): Promise<{ text: string; sound: boolean }> {
  const accounts = [...routing.accounts.values()].flat()
  const protocols = new Set(accounts.flatMap(({ lines }) => Object.keys(lines)))
  const live = routing.catalog.models.filter((model) =>
    [...protocols].some((protocol) => targetsOf(model, protocol, routing).length > 0),
  )
  const served = `${live.length} of ${routing.catalog.models.length} models can be called.`
  if (routing.isDemo && config.providers.length === 0) {
    return { text: `The configuration is valid. No provider is configured: demo mode. ${served}`, sound: true }
  }
  const examined = config.providers.map(({ id }) => examine(id, routing.accounts.get(id) ?? []))
  const findings = (await Promise.all(examined)).flat()
  const rows = findings.map(({ provider, address, verdict }) => [provider, address, verdict])
  const text = `The configuration is valid. ${served}\n\n${columns(["PROVIDER", "ADDRESS", "CREDENTIAL"], rows)}`
  return { text, sound: findings.every(({ sound }) => sound) }
}

/** One finding for each account. */
function examine(id: string, accounts: readonly Account[]): Promise<Finding[]> {
  if (accounts.length === 0) {
    return Promise.resolve([{ provider: id, address: "", verdict: "missing: set api_key", sound: false }])
  }
  const name = (index: number) => (accounts.length === 1 ? id : `${id} (${index + 1} of ${accounts.length})`)
  const findings = accounts.map(async (account, index): Promise<Finding> => {
    return { provider: name(index), address: account.baseUrl, ...(await account.check()) }
  })
  return Promise.all(findings)
}
