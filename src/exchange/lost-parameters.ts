// For callers who would rather not be answered than have a parameter passed over: which targets could not be told all
// of them, and what they would not be told.
import type { Loss } from "../canonical/loss.ts"
import type { Model } from "../catalog/catalog.ts"
import { type RoutingTable, type Target, targetsOf } from "../routing/plan.ts"
import type { House } from "./call.ts"
import { rehearse } from "./rehearsal.ts"
import { type Occasion, UnsayableError } from "./translate-lane.ts"

/** A place as the plan tells of it. */
interface Place {
  readonly provider: string
  readonly model: string
  readonly upstreamModel: string
}

export class LostParameters {
  private readonly byPlace = new Map<string, readonly string[]>()

  /** Asks the translation itself, for every place that could be tried. */
  static async find(
    models: readonly Model[],
    { table, ...occasion }: Occasion & { readonly table: RoutingTable },
  ): Promise<LostParameters> {
    const found = new LostParameters()
    const asking = { ...occasion, house: fetchingOnce(occasion.house) }
    for (const model of models) {
      for (const target of targetsOf(model, occasion.call.protocol.id, table)) await found.ask(target, asking)
    }
    return found
  }

  /** Where each stood in the request. */
  at(place: Place): readonly string[] {
    return this.byPlace.get(keyOf(place)) ?? []
  }

  isLosing({ account, model, upstreamModel }: Target): boolean {
    return this.at({ provider: account.id, model: model.id, upstreamModel }).length > 0
  }

  private async ask(target: Target, occasion: Occasion): Promise<void> {
    const key = keyOf({ provider: target.account.id, model: target.model.id, upstreamModel: target.upstreamModel })
    // Accounts of one provider are told the same.
    if (!this.byPlace.has(key)) this.byPlace.set(key, await lostAt(target, occasion))
  }
}

function keyOf({ provider, model, upstreamModel }: Place): string {
  return `${provider}\n${model}\n${upstreamModel}`
}

async function lostAt(target: Target, occasion: Occasion): Promise<readonly string[]> {
  try {
    const { losses } = await rehearse(target, occasion)
    return [...new Set(losses.filter(isLost).map(({ path }) => path))]
  } catch (thrown) {
    if (!(thrown instanceof UnsayableError)) throw thrown
    const { param } = thrown.error
    // What is refused for what was said, and not for a parameter, is better told in its own words.
    return param !== undefined && isParameter(param) ? [param] : []
  }
}

/** What is said in other words, and means the same, is not lost. */
function isLost({ path, how, weight }: Loss): boolean {
  return isParameter(path) && (how === "dropped" || weight === "meaning")
}

/** Where requests hold the conversation; all else of them is parameters. */
const CONVERSATION = new Set([
  ...["messages", "system", "input", "instructions"],
  ...["contents", "systemInstruction", "system_instruction"],
])

function isParameter(path: string): boolean {
  const [head = ""] = path.split(/[.[]/, 1)
  return head !== "" && !CONVERSATION.has(head)
}

/** Each target of one kind wants the same files. */
function fetchingOnce(house: House): House {
  const { fetchMedia } = house
  if (!fetchMedia) return house
  const fetched = new Map<string, ReturnType<typeof fetchMedia>>()
  return {
    ...house,
    fetchMedia: (addresses) => {
      const key = addresses.join("\n")
      const fetching = fetched.get(key) ?? fetchMedia(addresses)
      fetched.set(key, fetching)
      return fetching
    },
  }
}
