// trivium check: says what the configuration amounts to, and whether each provider takes its credential.
import type { Config } from "../config/config.ts"
import type { Account } from "../providers/contract.ts"
import { type RoutingTable, targetsOf } from "../routing/plan.ts"
import { probe } from "../transport/http-client.ts"
import { table as columns } from "./print.ts"

interface Finding {
  readonly provider: string
  readonly address: string
  readonly verdict: string
  readonly sound: boolean
}

export async function checkAccounts(
  routing: RoutingTable & { readonly isDemo: boolean },
  config: Config,
): Promise<{ text: string; sound: boolean }> {
  const protocols = new Set([...routing.accounts.values()].flatMap(({ lines }) => Object.keys(lines)))
  const live = routing.catalog.models.filter((model) =>
    [...protocols].some((protocol) => targetsOf(model, protocol, routing).length > 0),
  )
  const served = `${live.length} of ${routing.catalog.models.length} models can be called.`
  if (routing.isDemo && config.providers.length === 0) {
    return { text: `The configuration is valid. No provider is configured: demo mode. ${served}`, sound: true }
  }
  const findings = await Promise.all([...config.providers].map(({ id }) => examine(id, routing.accounts.get(id))))
  const rows = findings.map(({ provider, address, verdict }) => [provider, address, verdict])
  const text = `The configuration is valid. ${served}\n\n${columns(["PROVIDER", "ADDRESS", "CREDENTIAL"], rows)}`
  return { text, sound: findings.every(({ sound }) => sound) }
}

async function examine(id: string, account: Account | undefined): Promise<Finding> {
  if (!account) return { provider: id, address: "", verdict: "missing: set api_key", sound: false }
  const { baseUrl: address, lines } = account
  const found = (verdict: string, sound: boolean): Finding => ({ provider: id, address, verdict, sound })
  const [line] = Object.values(lines)
  if (!address.startsWith("http") || !line) return found("not needed", true)
  const status = await probe(`${address}/models`, line.headersWith({}))
  if (status === undefined) return found("unknown: no answer from this address", false)
  if (status === 401 || status === 403) return found(`refused (status ${status})`, false)
  return status < 400 ? found("accepted", true) : found(`unknown: its model list answers ${status}`, true)
}
