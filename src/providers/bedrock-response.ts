// Converts Bedrock's responses from AWS's formats: streams into server-sent events, errors into bodies with their
// names; Anthropic's models into Anthropic's errors. The bytes of a message, and of each event of a stream, are not
// changed.

import type { UpstreamBody, UpstreamResponse } from "../transport/http-response.ts"
import { decodeUtf8, encodeByteText, fromByteText, toByteText } from "../transport/json/byte-text.ts"
import { readAll } from "../transport/read-all.ts"
import { decodeEventStream, type EventMessage, EventStreamError } from "../transport/streams/aws-event-stream.ts"
import { encodeSse } from "../transport/streams/sse.ts"
import { TransportError } from "../transport/transport-error.ts"

const FRAMED = "application/vnd.amazon.eventstream"
const MAX_SMALL_BYTES = 64 * 1024
/** Limit of consecutive messages that are not events. */
const MAX_SKIPPED_BYTES = 4 * 1024 * 1024

export async function toAnthropicResponse(
  response: UpstreamResponse,
  { counts }: { counts: boolean },
): Promise<UpstreamResponse> {
  if (!response.ok) return anthropicError(response)
  return translateEvents(response, invokeText) ?? (counts ? anthropicCount(response) : response)
}

export async function toConverseResponse(response: UpstreamResponse): Promise<UpstreamResponse> {
  if (!response.ok) return converseError(response)
  return translateEvents(response, converseText) ?? response
}

/** One message of a stream as an event, in byte text; "" for messages that are not events. */
type WriteEvent = (message: EventMessage) => string

function translateEvents({ headers, body }: UpstreamResponse, write: WriteEvent): UpstreamResponse | undefined {
  if (!body || !headers.get("content-type")?.startsWith(FRAMED)) return undefined
  return new Response(reframeBody(body, write), { headers: { "content-type": "text/event-stream" } })
}

/** The events of a framed stream as server-sent events, read on demand. */
function reframeBody(body: UpstreamBody, write: WriteEvent): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const decoder = decodeEventStream()
  const next = async (): Promise<Uint8Array | undefined> => {
    let skipped = 0
    while (!decoder.fault) {
      const { done, value } = await reader.read()
      if (done) return void decoder.finish()
      const messages = decoder.push(value)
      const text = messages.map(write).join("")
      if (text !== "") return fromByteText(text)
      if (messages.length > 0) skipped += value.byteLength
      if (skipped > MAX_SKIPPED_BYTES) throw new EventStreamError("too many messages that are not events")
    }
    throw decoder.fault
  }
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const bytes = await next()
          if (bytes) controller.enqueue(bytes)
          else controller.close()
        } catch (thrown) {
          // Nothing after a broken frame can be read, and the connection cannot be reused.
          void reader.cancel(thrown).catch(() => {})
          controller.error(thrown instanceof EventStreamError ? new TransportError("reset", thrown) : thrown)
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

/** The name and text of an error message. */
function exceptionIn({ headers, payload }: EventMessage): BedrockError | undefined {
  const kind = headers[":message-type"]
  if (kind === "exception") {
    return { name: headers[":exception-type"], message: parseJsonObject(decodeUtf8(payload))?.message }
  }
  return kind === "error" ? { name: headers[":error-code"], message: headers[":error-message"] } : undefined
}

/** The payload is the event that the model's own interface would send. */
function invokeText(message: EventMessage): string {
  const exception = exceptionIn(message)
  if (exception) return errorText(errorBody(exception))
  const bytes = parseJsonObject(toByteText(message.payload))?.bytes
  if (typeof bytes !== "string") return ""
  const data = Buffer.from(bytes, "base64").toString("latin1")
  return encodeSse({ event: eventType(data), data })
}

/** Nearly all events begin with their type. */
function eventType(data: string): string {
  const [, first] = /^\{"type":"([a-z_]{1,50})"/.exec(data) ?? []
  const type = first ?? parseJsonObject(data)?.type
  return typeof type === "string" && /^[a-z_]{1,50}$/.test(type) ? type : "message"
}

function converseText(message: EventMessage): string {
  const exception = exceptionIn(message)
  if (exception) return errorText(converseBody(exception))
  const event = message.headers[":event-type"]
  if (event === undefined || !/^[A-Za-z]{1,50}$/.test(event)) return ""
  return encodeSse({ event, data: toByteText(message.payload) })
}

function errorText(body: object): string {
  return encodeSse({ event: "error", data: encodeByteText(JSON.stringify(body)) })
}

/** An AWS error, from a header and a body. */
interface BedrockError {
  readonly name: string | undefined
  readonly message: unknown
}

/** Anthropic's error types for AWS's, by the name without `Exception` and in lower case. */
const ERROR_TYPES: Readonly<Record<string, string>> = {
  throttling: "rate_limit_error",
  toomanyrequests: "rate_limit_error",
  servicequotaexceeded: "rate_limit_error",
  validation: "invalid_request_error",
  accessdenied: "permission_error",
  expiredtoken: "authentication_error",
  invalidsignature: "authentication_error",
  unrecognizedclient: "authentication_error",
  resourcenotfound: "not_found_error",
  modeltimeout: "timeout_error",
  modelnotready: "overloaded_error",
  serviceunavailable: "overloaded_error",
}

function errorBody({ name, message }: BedrockError) {
  const word = bareName(name)
    ?.replace(/Exception$/i, "")
    .toLowerCase()
  return {
    type: "error",
    error: { type: ERROR_TYPES[word ?? ""] ?? "api_error", message: typeof message === "string" ? message : "" },
  }
}

/** An error body with the name in the member that AWS's other interfaces use. */
function converseBody({ name, message }: BedrockError) {
  return { __type: bareName(name), message: typeof message === "string" ? message : "" }
}

/** The name may be followed by a colon and an address. */
function bareName(name: string | undefined): string | undefined {
  return name?.replace(/:.*$/, "")
}

/** An unknown model is the operator's to fix, although AWS reports it as a bad request. */
const ABOUT_MODEL = /model identifier is invalid|on-demand throughput|model ID or ARN|doesn.t support the model/i

async function anthropicError(response: UpstreamResponse): Promise<Response> {
  const error = await readBedrockError(response)
  return createErrorResponse(errorBody(error), { error, response })
}

async function converseError(response: UpstreamResponse): Promise<Response> {
  const error = await readBedrockError(response)
  return createErrorResponse(converseBody(error), { error, response })
}

async function readBedrockError(response: UpstreamResponse): Promise<BedrockError> {
  const body = parseJsonObject(await smallText(response))
  const message = body?.message ?? body?.Message
  const aboutModel = typeof message === "string" && ABOUT_MODEL.test(message)
  return {
    name: aboutModel ? "ResourceNotFoundException" : (response.headers.get("x-amzn-errortype") ?? undefined),
    message,
  }
}

function createErrorResponse(
  body: object,
  { error, response }: { error: BedrockError; response: UpstreamResponse },
): Response {
  const wait = response.headers.get("retry-after")
  return Response.json(body, {
    status: STATUSES[errorBody(error).error.type] ?? response.status,
    headers: wait === null ? {} : { "retry-after": wait },
  })
}

/** Statuses that AWS reports differently. */
const STATUSES: Readonly<Record<string, number>> = { rate_limit_error: 429, not_found_error: 404 }

async function anthropicCount(response: UpstreamResponse): Promise<Response> {
  return Response.json({ input_tokens: parseJsonObject(await smallText(response))?.inputTokens })
}

/** An error response counts even if its body is too long or truncated. */
async function smallText(response: UpstreamResponse): Promise<string> {
  try {
    return decodeUtf8(await readAll(response, MAX_SMALL_BYTES))
  } catch {
    return ""
  }
}

function parseJsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}
