// Calls one target, and reads the error it may answer with.
import { GatewayError } from "../canonical/error.ts"
import type { Target } from "../routing/plan.ts"
import type { Abort } from "../transport/abort.ts"
import { decodeUtf8 } from "../transport/byte-text.ts"
import type { Answer } from "../transport/http-answer.ts"
import { readAll } from "../transport/read-all.ts"
import { pauseOf } from "../transport/retry-after.ts"
import type { Attempt } from "./lane.ts"
import type { RunningCall } from "./running.ts"

const MAX_ERROR_BYTES = 64 * 1024

/** Sends the caller's request to the target. */
export function callUpstream(attempt: Attempt, { url, abort }: RunningCall): Promise<Answer> {
  const { call, house, target, lane, resends } = attempt
  const { headers, body } = lane.message(attempt)
  const { connectMs } = house.timeouts
  return target.line.send({ url, headers, body, abort, connectMs, owner: call.caller.tenant, resends })
}

/** The error that an upstream answered with, as the protocol spoken reads it. */
export async function upstreamError(response: Answer, attempt: Attempt, { abort }: RunningCall): Promise<GatewayError> {
  const { status, headers } = response
  const body = await errorText(response, abort)
  const pause = pauseOf({ status, headers, body })
  attempt.pause = pause
  const told = { status, retryAfterMs: pause.retryAfterMs, body }
  return withoutCredential(attempt.lane.decodeError(told, attempt), attempt.target)
}

/** A provider that quotes our credential in its sentence shall not tell it to the caller. */
export function withoutCredential(error: GatewayError, { account }: Target): GatewayError {
  let { message } = error
  for (const secret of account.secrets()) message = message.replaceAll(secret.reveal(), "[secret]")
  if (message === error.message) return error
  return new GatewayError(error.code, message, { ...error, cause: undefined })
}

/** An error is an error, also when its body is too long or breaks off. */
async function errorText(response: Answer, abort: Abort): Promise<string> {
  try {
    return decodeUtf8(await readAll(response, MAX_ERROR_BYTES))
  } catch (thrown) {
    if (abort.aborted) throw thrown
    return ""
  }
}
