// Counts the tokens of a request: with an upstream's counter if one is available, otherwise with the gateway's own.
// Nothing is held, charged or stored, and an upstream failure never reaches the caller.

import { familyOf } from "../counting/count-tokens.ts"
import type { Target } from "../routing/route-plan.ts"
import { decodeByteText } from "../transport/json/byte-text.ts"
import { buildResponse } from "./build-response.ts"
import type { ClientResponse } from "./client-response.ts"
import { requestUpstreamCount } from "./count-upstream.ts"
import type { ExchangeContext } from "./exchange-context.ts"
import { ANSWERED } from "./record/exchange-record.ts"

const CONTENT_TYPE = "application/json"

/** `planned` holds the targets the request would be sent to, at least one. */
export async function answerCount(context: ExchangeContext, planned: readonly Target[]): Promise<ClientResponse> {
  const { call, deps } = context
  const [first] = planned
  if (!first) throw new Error("a model without targets cannot be counted")
  // Each model counts in its own way, so fallbacks are ignored.
  const targets = planned.filter(({ model }) => model === first.model)
  const counted = await requestUpstreamCount(targets, context)
  const encode = deps.codecs.ingress.get(call.protocol.id)?.encodeCount
  if (!encode) throw new Error(`${call.protocol.id} has no token count response`)
  const body = counted ?? JSON.stringify(encode(await estimateCount(context, first)))
  call.finish(ANSWERED)
  // The gateway itself counted, even if an upstream was called before.
  const namesOrigin = counted !== undefined
  const answer = buildResponse(call.progress, { body, contentType: CONTENT_TYPE, namesOrigin })
  answer.headers.set("x-gateway-count", counted === undefined ? "estimated" : "upstream")
  return answer
}

function estimateCount({ call, deps, request }: ExchangeContext, { account, model }: Target): Promise<number> {
  const text = request.isAscii ? request.text : decodeByteText(request.text)
  const family = account.tokenizer ?? familyOf(model.id)
  return deps.tokens.count({ text, family, wireRequest: { protocol: call.protocol.id, envelope: call.envelope } })
}
