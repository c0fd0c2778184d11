// From bytes to a request the gateway can act on: bounded before it is parsed, checked before it goes anywhere.
import { excerpt, GatewayError } from "../canonical/gateway-error.ts"
import { isObject, type JsonObject } from "../canonical/json.ts"
import { describeJsonFault } from "../canonical/json-fault.ts"
import type { Protocol, ProtocolId, RequestEnvelope, RequestSummary } from "../protocols/contract.ts"
import type { SerialQueue } from "../transport/event-loop/serial-queue.ts"
import { waitFullTurn } from "../transport/event-loop/wait-full-turn.ts"
import { decodeByteText, isAscii, isAsciiText, isValidUtf8, toByteText } from "../transport/json/byte-text.ts"
import { renameDuplicates } from "../transport/json/json-duplicates.ts"
import {
  duplicateMember,
  JsonLimitError,
  type JsonLimits,
  type JsonOutline,
  type NameWatchOptions,
  outlineJson,
  outlineJsonInSlices,
} from "../transport/json/json-scan.ts"

/** A request as it came, and what was read of it. */
export interface ReadRequest {
  readonly reading: RequestSummary
  /** Byte text; empty once it is not needed any more. */
  text: string
  readonly outline: JsonOutline
  readonly isAscii: boolean
  /** What the text says, where it was parsed as it is; absent like it once it is not needed any more. */
  body?: JsonObject | undefined
}

/** Reads a request off the event loop; rejects with a GatewayError as `readBytes` throws it. */
export type ReadLargeRequest = (bytes: Uint8Array<ArrayBuffer>, source: LargeRequestSource) => Promise<RequestSummary>

/** The request's protocol, and its path, query and headers. */
export interface LargeRequestSource {
  readonly protocol: ProtocolId
  readonly envelope: RequestEnvelope
}

const LIMITS: JsonLimits = { maxDepth: 128, maxValues: 1_000_000, maxMembers: 1000 }
/** Beyond this, scanning and parsing would hold up the event loop for longer than others should wait. */
const LARGE_LENGTH = 256 * 1024
/** At 2 ns a byte a slice takes about half a millisecond. */
const SLICE_LENGTH = 256 * 1024

export function isLarge(length: number): boolean {
  return length > LARGE_LENGTH
}

interface ReadRequestOptions {
  readonly protocol: Protocol
  readonly envelope: RequestEnvelope
  readonly readLarge: ReadLargeRequest
  readonly largeInTurn: SerialQueue
}

/** Most requests are read at once; those that would hold up the event loop, in slices and in another thread. */
export function readRequest(
  bytes: Uint8Array<ArrayBuffer>,
  options: ReadRequestOptions,
): ReadRequest | Promise<ReadRequest> {
  if (isLarge(bytes.length)) return options.largeInTurn.run(() => readInSlices(bytes, options))
  const ascii = isAscii(bytes)
  if (!ascii && !isValidUtf8(bytes)) throw notUtf8Error()
  const text = toByteText(bytes)
  let outlined: JsonOutline | undefined
  try {
    outlined = outlineJson(text, LIMITS, watchOptions(options.protocol, ascii))
  } catch (thrown) {
    throw toLimitError(thrown)
  }
  if (!ascii) {
    if (outlined?.holdsWatched) checkBody(decodeByteText(text), options.protocol)
    return { reading: readByteText(text, options), text, outline: refuseAmbiguous(outlined), isAscii: false }
  }
  if (outlined?.holdsWatched) checkBody(text, options.protocol)
  const body = parseJsonObject(text)
  const reading = options.protocol.readRequest(body, options.envelope)
  return { reading, text, outline: refuseAmbiguous(outlined), isAscii: true, body }
}

function watchOptions({ bodyGuard: { outer, inner } }: Protocol, isAscii: boolean): NameWatchOptions {
  return { outer, inner, isAscii }
}

async function readInSlices(
  bytes: Uint8Array<ArrayBuffer>,
  { protocol, envelope, readLarge }: ReadRequestOptions,
): Promise<ReadRequest> {
  const ascii = isAscii(bytes)
  if (!ascii && !isValidUtf8(bytes)) throw notUtf8Error()
  await waitFullTurn()
  const text = toByteText(bytes)
  await waitFullTurn()
  const scan = outlineJsonInSlices(text, { limits: LIMITS, sliceLength: SLICE_LENGTH })
  const outlined = await scan.catch((thrown) => {
    throw toLimitError(thrown)
  })
  const reading = await readLarge(bytes, { protocol: protocol.id, envelope })
  return { reading, text, outline: refuseAmbiguous(outlined), isAscii: ascii }
}

/** A request that was read, with another text, which is bounded like any. */
export async function replaceText(request: ReadRequest, text: string): Promise<ReadRequest> {
  try {
    const scan = isLarge(text.length)
      ? outlineJsonInSlices(text, { limits: LIMITS, sliceLength: SLICE_LENGTH })
      : outlineJson(text, LIMITS)
    return { ...request, text, outline: refuseAmbiguous(await scan), body: undefined }
  } catch (thrown) {
    throw toLimitError(thrown)
  }
}

/** The outline of a text that every parser reads alike. A text that parses as an object has one. */
function refuseAmbiguous(outlined: JsonOutline | undefined): JsonOutline {
  if (!outlined) throw invalidJsonError("it is not a single JSON object")
  const twice = duplicateMember(outlined)
  if (twice !== undefined) throw invalidJsonError(`it contains \`${excerpt(twice)}\` twice`)
  return outlined
}

type RequestSource = Pick<ReadRequestOptions, "protocol" | "envelope">

/** Of all strings in a request only names of models and identifiers are read: only these are decoded, or all to name a fault. */
function readByteText(text: string, source: RequestSource): RequestSummary {
  try {
    const reading = readText(text, source)
    const { model, routing } = reading
    const names = [model, ...routing.fallback]
    const { identifiers } = reading
    if (names.every(isAsciiText) && !identifiers) return reading
    const fallback = routing.fallback.map(decodeByteText)
    return {
      ...reading,
      model: decodeByteText(model),
      ...(identifiers && {
        identifiers: identifiers.map(({ path, value }) => ({ path, value: decodeByteText(value) })),
      }),
      routing: { ...routing, fallback },
    }
  } catch {
    return readText(decodeByteText(text), source)
  }
}

function readText(text: string, { protocol, envelope }: RequestSource): RequestSummary {
  return protocol.readRequest(parseJsonObject(text), envelope)
}

/** As `readText`, and applies the rules for bodies, which no scan has sorted out. */
export function readLargeText(text: string, { protocol, envelope }: RequestSource): RequestSummary {
  return protocol.readRequest(checkBody(text, protocol), envelope)
}

/** A body that breaks no rule of its protocol, whichever of two members of one name a provider reads. */
function checkBody(text: string, { bodyGuard }: Protocol): JsonObject {
  const body = parseJsonObject(text)
  bodyGuard.check(body)
  const unique = renameDuplicates(text)
  if (unique !== text) bodyGuard.check(parseJsonObject(unique))
  return body
}

function parseJsonObject(text: string): JsonObject {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (cause) {
    throw invalidJsonError(describeJsonFault(text, cause))
  }
  if (!isObject(body)) throw invalidJsonError("it is not a JSON object")
  return body
}

function toLimitError(thrown: unknown): unknown {
  return thrown instanceof JsonLimitError ? invalidJsonError(LIMIT_SENTENCES[thrown.limit]) : thrown
}

const LIMIT_SENTENCES: Readonly<Record<keyof JsonLimits, string>> = {
  maxDepth: `it nests deeper than ${LIMITS.maxDepth} levels`,
  maxValues: `it contains more than ${LIMITS.maxValues} values`,
  maxMembers: `it has more than ${LIMITS.maxMembers} members`,
}

function notUtf8Error(): GatewayError {
  return invalidJsonError("it is not valid UTF-8")
}

function invalidJsonError(why: string): GatewayError {
  return new GatewayError("invalid_json", `The request body cannot be read: ${why}.`)
}
