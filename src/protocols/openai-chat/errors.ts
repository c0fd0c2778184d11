// Errors in OpenAI's shape: ours to the client, an upstream's to us.
import { GatewayError } from "../../canonical/error.ts"
import type { ErrorCode } from "../../canonical/error-codes.ts"
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import { encodeByteText } from "../../transport/byte-text.ts"
import { encodeSse } from "../../transport/sse.ts"
import type { UpstreamError } from "../contract.ts"

export function encodeError(error: GatewayError): Json {
  return {
    error: {
      code: error.code,
      message: error.message,
      type: error.kind,
      ...(error.param !== undefined && { param: error.param }),
      ...(error.attempts && { attempts: error.attempts.map((attempt) => ({ ...attempt })) }),
    },
  }
}

/** No `[DONE]` after it: clients would take the stream for complete. */
export function errorFrame(error: GatewayError): string {
  return encodeByteText(encodeSse({ data: JSON.stringify(encodeError(error)) }))
}

export function decodeError({ status, retryAfterMs, body }: UpstreamError): GatewayError {
  const said = sentence(parse(body))
  const told = { upstreamStatus: status, retryAfterMs }
  if (status === 429) return limited(told)
  const refused = REFUSALS.includes(status) || aboutCredential(said)
  if (!refused && (status === 400 || status === 413 || status === 422)) return callersFault(said)
  return refused ? credentialRefused(told) : unavailable(status, told)
}

/** An error inside a stream that began well: its status, where it has one, stands in its code. */
export function decodeErrorBody(body: JsonObject): GatewayError {
  const said = sentence(body)
  const status = Number(said.code)
  if (REFUSALS.includes(status) || aboutCredential(said)) return credentialRefused({})
  if (status === 400 || status === 422 || said.type === "invalid_request_error") return callersFault(said)
  if (status === 429 || said.type === "rate_limit_error" || said.code === "rate_limit_exceeded") return limited({})
  return unavailable(Number.isInteger(status) ? status : undefined, {})
}

const REFUSALS = [401, 402, 403]

/** The caller's key never goes to a provider, so what that says of a key is about ours. Some say it with status 400. */
function aboutCredential({ code, type, message = "" }: Sentence): boolean {
  if (code === "invalid_api_key" || type === "authentication_error") return true
  return /\bapi[ _-]?key\b/i.test(message)
}

interface Sentence {
  readonly message: string | undefined
  readonly code: string | undefined
  readonly type: string | undefined
  readonly param: string | undefined
}

/** OpenAI nests `error`; some hosts put its members at the top, some make `error` the sentence itself. */
function sentence(body: Json | undefined): Sentence {
  const outer = isObject(body) ? body : {}
  const inner = isObject(outer.error) ? outer.error : outer
  const message = text(inner.message) ?? text(outer.error) ?? text(outer.detail)
  return { message, code: text(inner.code), type: text(inner.type), param: text(inner.param) }
}

function text(value: Json | undefined): string | undefined {
  if (typeof value === "number") return String(value)
  return typeof value === "string" && value !== "" ? value.slice(0, 2000) : undefined
}

function callersFault(said: Sentence): GatewayError {
  const message = said.message ?? "The provider refused the request without saying why."
  return new GatewayError(callersCode(said), message, { owner: "caller", param: said.param })
}

function callersCode({ code, message = "" }: Sentence): ErrorCode {
  if (code === "context_length_exceeded" || /maximum context length|context window/i.test(message)) {
    return "context_length_exceeded"
  }
  if (code === "content_filter" || code === "content_policy_violation") return "content_refused"
  if (code === "unknown_parameter" || code === "unsupported_parameter") return "unsupported_parameter"
  return "invalid_parameter"
}

interface Told {
  readonly upstreamStatus?: number
  readonly retryAfterMs?: number | undefined
}

function limited(told: Told): GatewayError {
  const message = "The provider limits how often the gateway may call it. Try again later."
  return new GatewayError("upstream_rate_limited", message, { owner: "upstream", ...told })
}

function credentialRefused(told: Told): GatewayError {
  const message = "The provider refused the gateway's credential."
  return new GatewayError("upstream_unavailable", message, { owner: "gateway", ...told })
}

function unavailable(status: number | undefined, told: Told): GatewayError {
  const message = `The provider answered ${status === undefined ? "with an error" : `with status ${status}`}.`
  return new GatewayError("upstream_unavailable", message, { owner: status === 404 ? "gateway" : "upstream", ...told })
}

function parse(body: string): Json | undefined {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
