// The relay lane, unary: the answer's bytes pass, the model's name in them replaced, the usage read.
import { GatewayError } from "../canonical/error.ts"
import { decodeByteText, isAscii, toBody, toByteText } from "../transport/byte-text.ts"
import { failure, readAll } from "../transport/http-client.ts"
import { findMember, outline } from "../transport/json-scan.ts"
import { answerOf } from "./record.ts"
import { type Attempt, callUpstream, upstreamError, upstreamUrl, withoutCredential } from "./upstream.ts"

const MAX_ANSWER_BYTES = 64 * 1024 * 1024

export async function relayUnary(attempt: Attempt): Promise<Response> {
  const { call, house } = attempt
  const running = house.running.begin(call, { url: upstreamUrl(attempt), limitMs: house.timeouts.unaryMs })
  try {
    const response = await callUpstream(attempt, running)
    if (!response.ok) throw await upstreamError(response, attempt, running)
    const bytes = await readAll(response, MAX_ANSWER_BYTES)
    const { text, usage } = readAnswer(toByteText(bytes), attempt)
    call.record.usage = usage
    return answerOf(call.record, toBody(text, isAscii(bytes)), "application/json")
  } catch (thrown) {
    throw thrown instanceof GatewayError ? thrown : failure(thrown, running.abort)
  } finally {
    house.running.end(running)
  }
}

function readAnswer(text: string, { call, request, target }: Attempt) {
  const outlined = outline(text)
  const context = { model: target.model.id, reading: request.reading }
  const answer = outlined && call.protocol.relayAnswer(text, outlined, context)
  if (answer) return answer
  // Some hosts send an error with status 200.
  if (outlined && findMember(outlined, "error")) {
    throw withoutCredential(call.protocol.decodeError({ status: 502, body: decodeByteText(text) }), target)
  }
  const message = "The provider's answer is not one of this protocol."
  throw new GatewayError("upstream_unavailable", message, { owner: "upstream" })
}
