// trivium check: reports the callable models, and whether each provider accepts its credential.
import type { GatewayConfig } from "../config/config.ts"
import type { CredentialVerdict, OfferedModel, ProviderAccount } from "../providers/contract.ts"
import { type RoutingTable, targetsOf } from "../routing/route-plan.ts"
import { formatTable as columns } from "./print.ts"

interface AccountFinding extends Omit<CredentialVerdict, "offer"> {
  readonly provider: string
  /** Null if the entry sets none and has no account. */
  readonly address: string | null
  /** The origin of the credential; null if there is none. */
  readonly source: string | null
  /** The ids of the host's models, if they are discovered. */
  readonly models?: readonly string[]
}

/** Result of a check, as `--json` prints it and the administration returns it. */
export interface CheckReport {
  readonly valid: boolean
  readonly demo: boolean
  /** True if every provider accepts its credential. */
  readonly sound: boolean
  readonly models: {
    readonly known: number
    readonly callable: number
    /** Models that are served but rejected because they have no price. */
    readonly unpriced: readonly string[]
  }
  readonly providers: readonly AccountFinding[]
}

type CheckedTable = RoutingTable & { readonly isDemo: boolean }

type OfferedAt = (account: ProviderAccount) => readonly OfferedModel[] | undefined

interface CheckOptions {
  readonly config: Pick<GatewayConfig, "providers">
  /** Adds discovered models to the table; absent if the table already has them. */
  readonly tableWith?: (offeredAt: OfferedAt) => CheckedTable
}

export async function checkAccounts(
  routing: CheckedTable,
  { config, tableWith = () => routing }: CheckOptions,
): Promise<CheckReport> {
  const demo = routing.isDemo && config.providers.length === 0
  const examined = demo ? [] : config.providers.map(({ id }) => checkProvider(id, routing.accounts.get(id) ?? []))
  const findings = (await Promise.all(examined)).flat()
  const offers = new Map(findings.flatMap(({ account, verdict: { offer } }) => (offer ? [[account?.id, offer]] : [])))
  const counted = countModels(tableWith(({ id }) => offers.get(id)?.models))
  const providers = findings.map(toAccountFinding)
  return { valid: true, demo, sound: providers.every((each) => each.sound), models: counted, providers }
}

function countModels(routing: CheckedTable): CheckReport["models"] {
  const { models } = routing.catalog
  const protocols = new Set([...routing.accounts.values()].flat().flatMap(({ endpoints }) => Object.keys(endpoints)))
  const served = models.flatMap((model) => {
    const targets = [...protocols].flatMap((protocol) => targetsOf(model, protocol, routing))
    return targets.length === 0 ? [] : [{ id: model.id, isPriced: targets.some(({ pricing }) => pricing) }]
  })
  const unpriced = served.filter(({ isPriced }) => !isPriced).map(({ id }) => id)
  return { known: models.length, callable: served.length - unpriced.length, unpriced }
}

interface CheckedAccount {
  readonly name: string
  readonly account?: ProviderAccount
  readonly verdict: CredentialVerdict
}

/** One finding for each account. */
function checkProvider(id: string, accounts: readonly ProviderAccount[]): Promise<CheckedAccount[]> {
  if (accounts.length === 0) {
    return Promise.resolve([{ name: id, verdict: { verdict: "missing: set api_key", sound: false } }])
  }
  const name = (index: number) => (accounts.length === 1 ? id : `${id} (${index + 1} of ${accounts.length})`)
  const findings = accounts.map(async (account, index) => ({
    name: name(index),
    account,
    verdict: await account.check(),
  }))
  return Promise.all(findings)
}

function toAccountFinding({ name, account, verdict: { verdict, sound, offer } }: CheckedAccount): AccountFinding {
  const models = offer?.models.map((model) => `${account?.id}/${model.name}`)
  const { baseUrl: address = null, credentialSource: source = null } = account ?? {}
  return { provider: name, address, source, verdict, sound, ...(models && { models }) }
}

/** The report as text. */
export function describeReport({ demo, models, providers }: CheckReport): string {
  const { known, callable, unpriced } = models
  const served = `${callable} of ${known} known models can be called.`
  const paragraphs = [
    `The configuration is valid. ${demo ? "No provider is configured: demo mode. " : ""}${served}`,
    ...(unpriced.length === 0 ? [] : [describeUnpriced(unpriced)]),
    ...(callable === 0 && unpriced.length === 0 ? [NOTHING_CALLABLE] : []),
    ...(providers.length === 0 ? [] : [describeFindings(providers)]),
  ]
  return paragraphs.join("\n\n")
}

export function describeFindings(providers: CheckReport["providers"]): string {
  const found = columns(
    ["PROVIDER", "ADDRESS", "SOURCE", "CREDENTIAL"],
    providers.map((each) => [each.provider, each.address ?? "", each.source ?? "", each.verdict]),
  )
  const offers = providers.flatMap(({ provider, models = [] }) =>
    models.length === 0 ? [] : [`${provider} offers ${formatSome(models)}.`],
  )
  return [found, ...offers].join("\n\n")
}

const NOTHING_CALLABLE =
  "The configured providers serve no known model. List the models they serve under `models` in trivium.yaml, with `targets` and `pricing`: see docs/models.md."

const MAX_NAMED = 10

function describeUnpriced(unpriced: readonly string[]): string {
  return `Not callable, because they have no price: ${formatSome(unpriced)}. Set their \`pricing\` in the configuration (input "0" and output "0" if they are free).`
}

function formatSome(ids: readonly string[]): string {
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : ""
  return ids.slice(0, MAX_NAMED).join(", ") + more
}
