// Calls one target and reads its error response, if any.
import { GatewayError } from "../../canonical/gateway-error.ts"
import { readRetryPause } from "../../protocols/retry-pause.ts"
import type { Target } from "../../routing/route-plan.ts"
import type { Abort } from "../../transport/abort.ts"
import type { UpstreamResponse } from "../../transport/http-response.ts"
import { decodeUtf8 } from "../../transport/json/byte-text.ts"
import { readAll } from "../../transport/read-all.ts"
import type { Attempt } from "../lanes/lane.ts"
import type { UpstreamCall } from "./upstream-calls.ts"

const MAX_ERROR_BYTES = 64 * 1024

/** Sends the caller's request to the target. */
export async function callUpstream(attempt: Attempt, { url, abort }: UpstreamCall): Promise<UpstreamResponse> {
  const { call, deps, target, lane, facts, resends } = attempt
  const { headers, body, losses } = lane.message(attempt)
  facts.losses = losses
  const { connectMs } = deps.timeouts
  const owner = call.caller.tenant
  const response = await target.endpoint.send({ url, headers, body, abort, connectMs, owner, resends })
  facts.respondedAt = performance.now()
  facts.connectMs = response.connectMs
  return response
}

/** The upstream's error, decoded by the protocol in use. */
export async function upstreamError(
  response: UpstreamResponse,
  attempt: Attempt,
  { abort }: UpstreamCall,
): Promise<GatewayError> {
  const { status, headers } = response
  const body = await errorText(response, abort)
  const pause = readRetryPause({ status, headers, body })
  attempt.facts.pause = pause
  const reported = { status, retryAfterMs: pause.retryAfterMs, body }
  return withoutCredential(attempt.lane.decodeError(reported, attempt), attempt.target)
}

/** Removes the gateway's credential from a provider's error message. */
export function withoutCredential(error: GatewayError, { account }: Target): GatewayError {
  let { message } = error
  for (const secret of account.secrets()) message = message.replaceAll(secret.reveal(), "[secret]")
  if (message === error.message) return error
  return new GatewayError(error.code, message, { ...error, cause: undefined })
}

/** An error response counts even if its body is too long or truncated. */
async function errorText(response: UpstreamResponse, abort: Abort): Promise<string> {
  try {
    return decodeUtf8(await readAll(response, MAX_ERROR_BYTES))
  } catch (thrown) {
    if (abort.aborted) throw thrown
    return ""
  }
}
