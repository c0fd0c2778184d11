// trivium check: says what the configuration amounts to, and whether each provider takes its credential.
import type { Config } from "../config/config.ts"
import type { Account, Verdict } from "../providers/contract.ts"
import { type RoutingTable, targetsOf } from "../routing/plan.ts"
import { table as columns } from "./print.ts"

interface AccountFinding extends Verdict {
  readonly provider: string
  /** Null where the entry names none and has no account. */
  readonly address: string | null
  /** Where the credential comes from; null where there is none. */
  readonly source: string | null
}

/** What a check found, as `--json` prints it and the administration answers. */
export interface CheckReport {
  readonly valid: boolean
  readonly demo: boolean
  /** Whether every provider takes its credential. */
  readonly sound: boolean
  readonly models: {
    readonly known: number
    readonly callable: number
    /** Served, but refused because nobody knows what they cost. */
    readonly unpriced: readonly string[]
  }
  readonly providers: readonly AccountFinding[]
}

type CheckedTable = RoutingTable & { readonly isDemo: boolean }

export async function checkAccounts(routing: CheckedTable, config: Pick<Config, "providers">): Promise<CheckReport> {
  const demo = routing.isDemo && config.providers.length === 0
  const examined = demo ? [] : config.providers.map(({ id }) => examine(id, routing.accounts.get(id) ?? []))
  const providers = (await Promise.all(examined)).flat()
  const sound = providers.every((each) => each.sound)
  return { valid: true, demo, sound, models: countModels(routing), providers }
}

function countModels(routing: CheckedTable): CheckReport["models"] {
  const { models } = routing.catalog
  const protocols = new Set([...routing.accounts.values()].flat().flatMap(({ lines }) => Object.keys(lines)))
  const served = models.flatMap((model) => {
    const targets = [...protocols].flatMap((protocol) => targetsOf(model, protocol, routing))
    return targets.length === 0 ? [] : [{ id: model.id, isPriced: targets.some(({ pricing }) => pricing) }]
  })
  const unpriced = served.filter(({ isPriced }) => !isPriced).map(({ id }) => id)
  return { known: models.length, callable: served.length - unpriced.length, unpriced }
}

/** One finding for each account. */
function examine(id: string, accounts: readonly Account[]): Promise<AccountFinding[]> {
  if (accounts.length === 0) {
    return Promise.resolve([
      { provider: id, address: null, source: null, verdict: "missing: set api_key", sound: false },
    ])
  }
  const name = (index: number) => (accounts.length === 1 ? id : `${id} (${index + 1} of ${accounts.length})`)
  const findings = accounts.map(async (account, index): Promise<AccountFinding> => {
    const { verdict, sound } = await account.check()
    return { provider: name(index), address: account.baseUrl, source: account.credentialSource, verdict, sound }
  })
  return Promise.all(findings)
}

/** A report as people read it. */
export function describeReport({ demo, models, providers }: CheckReport): string {
  const { known, callable, unpriced } = models
  const served = `${callable} of ${known} models can be called.`
  const paragraphs = [
    `The configuration is valid. ${demo ? "No provider is configured: demo mode. " : ""}${served}`,
    ...(unpriced.length === 0 ? [] : [describeUnpriced(unpriced)]),
    ...(callable === 0 && unpriced.length === 0 ? [NOTHING_CALLABLE] : []),
    ...(providers.length === 0
      ? []
      : [
          columns(
            ["PROVIDER", "ADDRESS", "SOURCE", "CREDENTIAL"],
            providers.map((each) => [each.provider, each.address ?? "", each.source ?? "", each.verdict]),
          ),
        ]),
  ]
  return paragraphs.join("\n\n")
}

const NOTHING_CALLABLE =
  "No known model is served by the configured providers. Name the ones they serve under `models` in trivium.yaml, with `targets` and `pricing`: see docs/models.md."

const MAX_NAMED = 10

function describeUnpriced(unpriced: readonly string[]): string {
  const named = unpriced.slice(0, MAX_NAMED).join(", ")
  const more = unpriced.length > MAX_NAMED ? ` and ${unpriced.length - MAX_NAMED} more` : ""
  return `Not called, because they have no price: ${named}${more}. Give them \`pricing\` in the configuration: input "0" and output "0" where they are free.`
}
