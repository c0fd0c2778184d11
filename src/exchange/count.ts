// Answers how many tokens a request has: as an upstream counts it, where one can be asked, and else as it is counted
// here. Nothing is held, charged or kept for it, and no upstream's failure is the caller's.

import { familyOf } from "../counting/count-tokens.ts"
import type { Target } from "../routing/plan.ts"
import { decodeByteText } from "../transport/byte-text.ts"
import type { ClientAnswer } from "./client-answer.ts"
import { upstreamCount } from "./count-upstream.ts"
import { answerOf, type ExchangeRecord } from "./record.ts"
import type { Occasion } from "./translate-lane.ts"

const CONTENT_TYPE = "application/json"

/** `planned` are the targets the request itself would be sent to, of which there is one at least. */
export async function answerCount(occasion: Occasion, planned: readonly Target[]): Promise<ClientAnswer> {
  const { call, house } = occasion
  const [first] = planned
  if (!first) throw new Error("what nobody serves is not counted")
  // Each model counts in its own way, so those to turn to have no say.
  const targets = planned.filter(({ model }) => model === first.model)
  const told = await upstreamCount(targets, occasion)
  const encode = house.codecs.ingress.get(call.protocol.id)?.encodeCount
  if (!encode) throw new Error(`${call.protocol.id} has no word for a count`)
  const body = told ?? JSON.stringify(encode(await estimated(occasion, first)))
  call.finish()
  const answer = answerOf(told === undefined ? fromHere(call.record) : call.record, body, CONTENT_TYPE)
  answer.headers.set("x-gateway-count", told === undefined ? "estimated" : "upstream")
  return answer
}

/** Nobody answered but the gateway, whoever was asked before. */
function fromHere(record: ExchangeRecord): ExchangeRecord {
  return { ...record, attempts: 0 }
}

function estimated({ call, house, request }: Occasion, { account, model }: Target): Promise<number> {
  const text = request.isAscii ? request.text : decodeByteText(request.text)
  const family = account.tokens ?? familyOf(model.id)
  return house.tokens.count({ text, family, spoken: { protocol: call.protocol.id, envelope: call.envelope } })
}
