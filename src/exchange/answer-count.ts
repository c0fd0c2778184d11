// Answers how many tokens a request has: as an upstream counts it, where one can be asked, and else as it is counted
// here. Nothing is held, charged or kept for it, and no upstream's failure is the caller's.

import { familyOf } from "../counting/count-tokens.ts"
import type { Target } from "../routing/route-plan.ts"
import { decodeByteText } from "../transport/json/byte-text.ts"
import type { ClientResponse } from "./client-response.ts"
import { requestUpstreamCount } from "./count-upstream.ts"
import { type ExchangeRecord, responseOf } from "./exchange-record.ts"
import type { TranslationContext } from "./lanes/translate-lane.ts"

const CONTENT_TYPE = "application/json"

/** `planned` are the targets the request itself would be sent to, of which there is one at least. */
export async function answerCount(context: TranslationContext, planned: readonly Target[]): Promise<ClientResponse> {
  const { call, deps } = context
  const [first] = planned
  if (!first) throw new Error("a model without targets cannot be counted")
  // Each model counts in its own way, so those to turn to have no say.
  const targets = planned.filter(({ model }) => model === first.model)
  const told = await requestUpstreamCount(targets, context)
  const encode = deps.codecs.ingress.get(call.protocol.id)?.encodeCount
  if (!encode) throw new Error(`${call.protocol.id} has no token count response`)
  const body = told ?? JSON.stringify(encode(await estimateCount(context, first)))
  call.finish()
  const answer = responseOf(told === undefined ? withoutAttempts(call.record) : call.record, body, CONTENT_TYPE)
  answer.headers.set("x-gateway-count", told === undefined ? "estimated" : "upstream")
  return answer
}

/** Nobody answered but the gateway, whoever was asked before. */
function withoutAttempts(record: ExchangeRecord): ExchangeRecord {
  return { ...record, attempts: 0 }
}

function estimateCount({ call, deps, request }: TranslationContext, { account, model }: Target): Promise<number> {
  const text = request.isAscii ? request.text : decodeByteText(request.text)
  const family = account.tokens ?? familyOf(model.id)
  return deps.tokens.count({ text, family, spoken: { protocol: call.protocol.id, envelope: call.envelope } })
}
