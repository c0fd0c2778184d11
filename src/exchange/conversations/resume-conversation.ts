// Connects an exchange to stored responses: loads the conversation the request continues, and stores the new response.
import type { ItemReference } from "../../protocols/contract.ts"
import type { SessionHome } from "../../routing/affinity.ts"
import type { RoutingTable, Target } from "../../routing/route-plan.ts"
import type { ClientCall, ExchangeDeps } from "../exchange-deps.ts"
import { type ReadRequest, replaceText } from "../read-request.ts"
import type { IdempotencyClaim } from "./idempotency.ts"
import { type ResponseOrigin, responseId } from "./stored-responses.ts"

/** A request with the stored conversation it continues. */
export interface ResumedRequest {
  readonly request: ReadRequest
  /** As it came. */
  readonly own: ReadRequest
  readonly before: string
  /** Where the conversation was answered last. */
  readonly home?: SessionHome | undefined
}

interface ResumeContext {
  readonly call: ClientCall
  readonly deps: ExchangeDeps
  readonly table: RoutingTable
}

export function resumeConversation(own: ReadRequest, context: ResumeContext): ResumedRequest | Promise<ResumedRequest> {
  const { previous, references } = own.reading.storage ?? {}
  if (references) return resolveReferences(own, references, context)
  return previous === undefined ? { request: own, own, before: "" } : continueConversation(own, previous, context)
}

/** The request with the items that it names by their ids, which is what is kept of it. */
async function resolveReferences(
  own: ReadRequest,
  references: readonly ItemReference[],
  context: ResumeContext,
): Promise<ResumedRequest> {
  const { call, deps, table } = context
  const { text, origin } = deps.responses.resolve(own, references, call.caller.tenant)
  const request = await replaceText(own, text)
  const previous = own.reading.storage?.previous
  if (previous !== undefined) return continueConversation(request, previous, context)
  return { request, own: request, before: "", home: homeOf(origin, table) }
}

async function continueConversation(
  own: ReadRequest,
  previous: string,
  { call, deps, table }: ResumeContext,
): Promise<ResumedRequest> {
  const conversation = deps.responses.conversation(previous, call.caller.tenant)
  const request = await replaceText(own, deps.responses.continued(own, conversation))
  return { request, own, before: conversation.items, home: homeOf(conversation.origin, table) }
}

function homeOf(origin: ResponseOrigin | null, { accounts }: RoutingTable): SessionHome | undefined {
  const account = origin && accounts.get(origin.provider)?.[origin.account]
  return account ? { account, upstreamModel: origin.upstreamModel, cachedTokens: 0 } : undefined
}

interface KeepContext extends ResumeContext {
  readonly targets: readonly Target[]
  /** Where the request may be sent again. */
  readonly claim: IdempotencyClaim | undefined
}

interface AnswerableRequest {
  readonly request: ReadRequest
  readonly claim: IdempotencyClaim | undefined
}

/** The request, knowing what its answer says of being kept; and who hears of that. */
export function keepResponse(
  { request, own, before }: ResumedRequest,
  { call, deps, table, targets, claim }: KeepContext,
): AnswerableRequest {
  const { storage: kept } = request.reading
  if (!kept) return { request, claim }
  const { requestId, attempts } = call.progress
  const originOf = () => originIn(attempts.serving?.target, table)
  const expected = { tenant: call.caller.tenant, requestId, request: own, before, originOf }
  // It is written with what was paid for it.
  const keeping = kept.store && deps.ledger ? deps.responses.begin(expected) : undefined
  const stored = {
    ...kept,
    ...{ id: responseId(requestId), store: keeping !== undefined, maxLength: keeping?.maxLength ?? 0 },
    reasons: targets.every(({ model }) => model.reasoning),
  }
  const reading = { ...request.reading, storage: stored }
  return { request: { ...request, reading }, claim: joinClaims(claim, keeping) }
}

function originIn(target: Target | undefined, { accounts }: RoutingTable): ResponseOrigin | undefined {
  if (!target) return undefined
  const { account, upstreamModel } = target
  return { provider: account.id, account: accounts.get(account.id)?.indexOf(account) ?? -1, upstreamModel }
}

function joinClaims(
  first: IdempotencyClaim | undefined,
  second: IdempotencyClaim | undefined,
): IdempotencyClaim | undefined {
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
