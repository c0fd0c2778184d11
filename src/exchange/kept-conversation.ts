// What an exchange has to do with responses that are kept: the conversation its request goes on with, and the answer
// that is to be found again.
import type { ItemReference } from "../protocols/contract.ts"
import type { Home } from "../routing/affinity.ts"
import type { RoutingTable, Target } from "../routing/plan.ts"
import type { Call, House } from "./call.ts"
import type { Claim } from "./repeats.ts"
import { type ReadRequest, reworded } from "./request.ts"
import { type Origin, responseId } from "./stored-responses.ts"

/** A request as it goes to whoever answers it, with all that was said before. */
export interface Resumed {
  readonly request: ReadRequest
  /** As it came. */
  readonly own: ReadRequest
  readonly before: string
  /** Where the conversation was answered last. */
  readonly home?: Home | undefined
}

interface Occasion {
  readonly call: Call
  readonly house: House
  readonly table: RoutingTable
}

export function resume(own: ReadRequest, occasion: Occasion): Resumed | Promise<Resumed> {
  const { previous, references } = own.reading.kept ?? {}
  if (references) return resolve(own, references, occasion)
  return previous === undefined ? { request: own, own, before: "" } : goOn(own, previous, occasion)
}

/** The request with the items that it names by their ids, which is what is kept of it. */
async function resolve(own: ReadRequest, references: readonly ItemReference[], occasion: Occasion): Promise<Resumed> {
  const { call, house, table } = occasion
  const { text, origin } = house.responses.resolve(own, references, call.caller.tenant)
  const request = await reworded(own, text)
  const previous = own.reading.kept?.previous
  if (previous !== undefined) return goOn(request, previous, occasion)
  return { request, own: request, before: "", home: homeOf(origin, table) }
}

async function goOn(own: ReadRequest, previous: string, { call, house, table }: Occasion): Promise<Resumed> {
  const conversation = house.responses.conversation(previous, call.caller.tenant)
  const request = await reworded(own, house.responses.continued(own, conversation))
  return { request, own, before: conversation.items, home: homeOf(conversation.origin, table) }
}

function homeOf(origin: Origin | null, { accounts }: RoutingTable): Home | undefined {
  const account = origin && accounts.get(origin.provider)?.[origin.account]
  return account ? { account, upstreamModel: origin.upstreamModel, cachedTokens: 0 } : undefined
}

interface Answering extends Occasion {
  readonly targets: readonly Target[]
  /** Where the request may be sent again. */
  readonly claim: Claim | undefined
}

interface Answerable {
  readonly request: ReadRequest
  readonly claim: Claim | undefined
}

/** The request, knowing what its answer says of being kept; and who hears of that. */
export function keep({ request, own, before }: Resumed, { call, house, table, targets, claim }: Answering): Answerable {
  const { kept } = request.reading
  if (!kept) return { request, claim }
  const { requestId } = call.record
  const originOf = () => originIn(call.record.target, table)
  const expected = { tenant: call.caller.tenant, requestId, told: own, before, originOf }
  // It is written with what was paid for it.
  const keeping = kept.store && house.ledger ? house.responses.begin(expected) : undefined
  const told = {
    ...kept,
    ...{ id: responseId(requestId), store: keeping !== undefined, room: keeping?.room ?? 0 },
    reasons: targets.every(({ model }) => model.reasoning),
  }
  const reading = { ...request.reading, kept: told }
  return { request: { ...request, reading }, claim: both(claim, keeping) }
}

function originIn(target: Target | undefined, { accounts }: RoutingTable): Origin | undefined {
  if (!target) return undefined
  const { account, upstreamModel } = target
  return { provider: account.id, account: accounts.get(account.id)?.indexOf(account) ?? -1, upstreamModel }
}

function both(first: Claim | undefined, second: Claim | undefined): Claim | undefined {
  if (!first || !second) return first ?? second
  return {
    sent(bytes) {
      first.sent(bytes)
      second.sent(bytes)
    },
    answered(answer) {
      first.answered(answer)
      second.answered(answer)
    },
    end() {
      first.end()
      second.end()
    },
  }
}
