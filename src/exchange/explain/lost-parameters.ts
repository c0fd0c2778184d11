// For `require_parameters`: finds the targets that do not support all parameters of a request, and the unsupported
// parameters.
import type { Loss } from "../../canonical/loss.ts"
import type { CatalogModel } from "../../catalog/catalog.ts"
import { CONVERSATION_MEMBERS, INSTRUCTION_MEMBERS } from "../../protocols/request-members.ts"
import { type Target, targetsOf } from "../../routing/route-plan.ts"
import type { ExchangeContext } from "../exchange-context.ts"
import type { ExchangeDeps } from "../exchange-deps.ts"
import { UntranslatableError } from "../lanes/translate-lane.ts"
import { dryRun } from "./dry-run.ts"

/** A target as the plan reports it. */
interface TargetIdentity {
  readonly provider: string
  readonly model: string
  readonly upstreamModel: string
}

export class LostParameters {
  private readonly byPlace = new Map<string, readonly string[]>()

  /** Asks the translation itself, for every place that could be tried. */
  static async find(models: readonly CatalogModel[], context: ExchangeContext): Promise<LostParameters> {
    const found = new LostParameters()
    const asking = { ...context, deps: withFetchCache(context.deps) }
    for (const model of models) {
      for (const target of targetsOf(model, context.call.protocol.id, context.table))
        await found.checkTarget(target, asking)
    }
    return found
  }

  /** The paths of the unsupported parameters in the request. */
  at(place: TargetIdentity): readonly string[] {
    return this.byPlace.get(keyOf(place)) ?? []
  }

  isLosing({ account, model, upstreamModel }: Target): boolean {
    return this.at({ provider: account.id, model: model.id, upstreamModel }).length > 0
  }

  private async checkTarget(target: Target, context: ExchangeContext): Promise<void> {
    const key = keyOf({ provider: target.account.id, model: target.model.id, upstreamModel: target.upstreamModel })
    // Accounts of one provider get the same request.
    if (!this.byPlace.has(key)) this.byPlace.set(key, await findLostParameters(target, context))
  }
}

function keyOf({ provider, model, upstreamModel }: TargetIdentity): string {
  return `${provider}\n${model}\n${upstreamModel}`
}

async function findLostParameters(target: Target, context: ExchangeContext): Promise<readonly string[]> {
  try {
    const { losses } = await dryRun(target, context)
    return [...new Set(losses.filter(isLost).map(({ path }) => path))]
  } catch (thrown) {
    if (!(thrown instanceof UntranslatableError)) throw thrown
    const { param } = thrown.error
    // A rejection of the conversation itself keeps its own message.
    return param !== undefined && isParameter(param) ? [param] : []
  }
}

/** A parameter with an equivalent is not lost. */
function isLost({ path, how, weight }: Loss): boolean {
  return isParameter(path) && (how === "dropped" || weight === "meaning")
}

/** All other members are parameters. */
const CONVERSATION = new Set([...CONVERSATION_MEMBERS, ...INSTRUCTION_MEMBERS])

function isParameter(path: string): boolean {
  const [head = ""] = path.split(/[.[]/, 1)
  return head !== "" && !CONVERSATION.has(head)
}

/** Each target of one kind wants the same files. */
function withFetchCache(deps: ExchangeDeps): ExchangeDeps {
  const { fetchMedia } = deps
  if (!fetchMedia) return deps
  const fetched = new Map<string, ReturnType<typeof fetchMedia>>()
  return {
    ...deps,
    fetchMedia: (addresses) => {
      const key = addresses.join("\n")
      const fetching = fetched.get(key) ?? fetchMedia(addresses)
      fetched.set(key, fetching)
      return fetching
    },
  }
}
