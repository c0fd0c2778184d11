// Calls one target with the caller's request, the members the gateway owns changed.
import { GatewayError } from "../canonical/error.ts"
import type { Target } from "../routing/plan.ts"
import { decodeByteText, fromByteText, toByteText } from "../transport/byte-text.ts"
import { readAll } from "../transport/http-client.ts"
import { splice } from "../transport/json-splice.ts"
import { retryAfterMs } from "../transport/retry-after.ts"
import type { Call } from "./call.ts"
import type { ReadRequest } from "./request.ts"

const MAX_ERROR_BYTES = 64 * 1024

/** The upstream's good answer; its error is thrown as the protocol reads it. */
export async function callUpstream(
  { call, request, target }: { call: Call; request: ReadRequest; target: Target },
  abort: AbortController,
): Promise<Response> {
  const { account, dialect, upstreamModel: model } = target
  const edits = call.protocol.requestEdits(request.reading, { model, streamUsage: dialect.streamUsage })
  const response = await account.send({
    url: account.baseUrl + dialect.path,
    headers: {
      "content-type": "application/json",
      accept: request.reading.stream ? "text/event-stream" : "application/json",
      "accept-encoding": "identity",
      "user-agent": "trivium",
      ...dialect.headers(account.credential),
    },
    body: fromByteText(splice(request.text, edits, request.outline)),
    abort,
  })
  if (response.status >= 200 && response.status < 300) return response
  throw await upstreamError(response, { call, target, abort })
}

async function upstreamError(
  response: Response,
  { call, target, abort }: { call: Call; target: Target; abort: AbortController },
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
  const secret = account.credential?.reveal()
  if (!secret || !error.message.includes(secret)) return error
  return new GatewayError(error.code, error.message.replaceAll(secret, "[secret]"), { ...error, cause: undefined })
}

/** An error is an error, also when its body is too long or breaks off. */
async function errorText(response: Response, abort: AbortController): Promise<string> {
  try {
    return decodeByteText(toByteText(await readAll(response, { maxBytes: MAX_ERROR_BYTES, abort })))
  } catch (thrown) {
    if (abort.signal.aborted) throw thrown
    return ""
  }
}
