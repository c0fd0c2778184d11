// Calls one target with the caller's request, the members the gateway owns changed.
import { GatewayError } from "../canonical/error.ts"
import type { Errand } from "../providers/contract.ts"
import type { Target } from "../routing/plan.ts"
import type { Abort } from "../transport/abort.ts"
import { decodeUtf8, toBody } from "../transport/byte-text.ts"
import type { Answer } from "../transport/http-answer.ts"
import { readAll } from "../transport/http-client.ts"
import { splice } from "../transport/json-splice.ts"
import { retryAfterMs } from "../transport/retry-after.ts"
import type { Call, House } from "./call.ts"
import type { ReadRequest } from "./request.ts"
import type { RunningCall } from "./running.ts"

const MAX_ERROR_BYTES = 64 * 1024

/** One try at one target. */
export interface Attempt {
  readonly call: Call
  readonly house: House
  readonly request: ReadRequest
  readonly target: Target
}

/** Sends the caller's request to the target. */
export function callUpstream(attempt: Attempt, { url, abort }: RunningCall): Promise<Answer> {
  const { call, house, request, target } = attempt
  const { line, upstreamModel: model } = target
  const { reading } = request
  const usual = call.protocol.requestEdits(reading, { model, streamUsage: line.streamUsage })
  const edits = line.edits ? [...line.edits(errandOf(attempt)), ...usual] : usual
  const body = toBody(splice(request.text, edits, request.outline), request.isAscii)
  const { connectMs } = house.timeouts
  return line.send({ url, headers: line.headersWith(reading.headers), body, abort, connectMs })
}

/** Where this attempt goes. */
export function upstreamUrl(attempt: Attempt): string {
  const { line } = attempt.target
  return line.baseUrl + (line.path ? line.path(errandOf(attempt)) : usualPath(attempt))
}

function usualPath({ call, request, target }: Attempt): string {
  return call.protocol.upstreamPath(request.reading, target.upstreamModel)
}

function errandOf(attempt: Attempt): Errand {
  const { operation, stream, headers } = attempt.request.reading
  return { operation, stream, headers, model: attempt.target.upstreamModel, usualPath: usualPath(attempt) }
}

/** The error that an upstream answered with, as the protocol reads it. */
export async function upstreamError(
  response: Answer,
  { call, target }: Attempt,
  { abort }: RunningCall,
): Promise<GatewayError> {
  const error = call.protocol.decodeError({
    status: response.status,
    retryAfterMs: retryAfterMs(response.headers),
    body: await errorText(response, abort),
  })
  return withoutCredential(error, target)
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
