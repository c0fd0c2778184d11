// The relay lane, unary: the answer's bytes pass, the model's name in them replaced, the usage read.
import { GatewayError } from "../canonical/error.ts"
import type { Target } from "../routing/plan.ts"
import { decodeByteText, fromByteText, toByteText } from "../transport/byte-text.ts"
import { readAll } from "../transport/http-client.ts"
import { outline } from "../transport/json-scan.ts"
import type { Call, House } from "./call.ts"
import { originHeaders } from "./record.ts"
import type { ReadRequest } from "./request.ts"
import { callUpstream, withoutCredential } from "./upstream.ts"

const MAX_ANSWER_BYTES = 64 * 1024 * 1024

export async function relayUnary({
  call,
  house,
  request,
  target,
}: {
  call: Call
  house: House
  request: ReadRequest
  target: Target
}): Promise<Response> {
  const running = house.running.begin(call, house.timeouts.unaryMs)
  const { abort } = running
  try {
    const response = await callUpstream({ call, request, target }, abort)
    const text = toByteText(await readAll(response, { maxBytes: MAX_ANSWER_BYTES, abort }))
    const answer = readAnswer(text, { call, request, target })
    if (answer.usage) call.record.usage = answer.usage
    return new Response(fromByteText(answer.text), {
      headers: {
        "content-type": "application/json",
        "x-request-id": call.record.requestId,
        ...originHeaders(call.record),
      },
    })
  } finally {
    house.running.end(running)
  }
}

function readAnswer(text: string, { call, request, target }: { call: Call; request: ReadRequest; target: Target }) {
  const outlined = outline(text)
  const context = { model: target.model.id, usageAsked: request.reading.usageAsked }
  const answer = outlined && call.protocol.relayAnswer(text, outlined, context)
  if (answer) return answer
  // Some hosts send an error with status 200.
  if (outlined?.members.some((member) => member.name === "error")) {
    throw withoutCredential(call.protocol.decodeError({ status: 502, body: decodeByteText(text) }), target)
  }
  const message = "The provider's answer is not one of this protocol."
  throw new GatewayError("upstream_unavailable", message, { owner: "upstream" })
}
