// From bytes to a request the gateway can act on: bounded before it is parsed, checked before it goes anywhere.
import { excerpt, GatewayError } from "../canonical/error.ts"
import { isObject } from "../canonical/json.ts"
import type { Protocol, ProtocolId, Reading } from "../protocols/contract.ts"
import { decodeBytes, isValidUtf8, toByteText } from "../transport/byte-text.ts"
import {
  duplicateMember,
  JsonLimitError,
  type JsonLimits,
  type Outline,
  outline,
  outlineInSlices,
} from "../transport/json-scan.ts"

/** A request as it came, and what was read of it. */
export interface ReadRequest {
  readonly reading: Reading
  readonly text: string
  readonly outline: Outline
}

/** Reads a request off the event loop; rejects with a GatewayError as `readBytes` throws it. */
export type ReadLarge = (protocol: ProtocolId, bytes: Uint8Array<ArrayBuffer>) => Promise<Reading>

const LIMITS: JsonLimits = { maxDepth: 128, maxValues: 1_000_000, maxMembers: 1000 }
/** Beyond this the scan pauses for others; at 2 ns a byte a slice takes about half a millisecond. */
const SLICE_LENGTH = 256 * 1024
/** Beyond this parsing would hold up the event loop for longer than others should wait. */
const LARGE_LENGTH = 512 * 1024

export async function readRequest(
  bytes: Uint8Array<ArrayBuffer>,
  { protocol, readLarge }: { protocol: Protocol; readLarge: ReadLarge },
): Promise<ReadRequest> {
  if (!isValidUtf8(bytes)) throw invalidJson("it is not valid UTF-8")
  const text = toByteText(bytes)
  const outlined = await bound(text)
  const reading =
    text.length > LARGE_LENGTH ? await readLarge(protocol.id, bytes) : readText(decodeBytes(bytes, text), protocol)
  // A text that parses as an object has an outline; only a text that does not can lack one.
  if (!outlined) throw invalidJson("it is not one JSON object")
  const twice = duplicateMember(outlined)
  if (twice !== undefined) throw invalidJson(`it holds \`${excerpt(twice)}\` twice`)
  return { reading, text, outline: outlined }
}

/** Parses and checks a whole request; what the worker does with large ones. */
export function readText(text: string, protocol: Protocol): Reading {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (cause) {
    throw invalidJson(cause instanceof Error ? cause.message.replace(/^JSON Parse error: /, "") : "syntax error")
  }
  if (!isObject(body)) throw invalidJson("it is not a JSON object")
  return protocol.readRequest(body)
}

async function bound(text: string): Promise<Outline | undefined> {
  try {
    if (text.length <= SLICE_LENGTH) return outline(text, LIMITS)
    return await outlineInSlices(text, { limits: LIMITS, sliceLength: SLICE_LENGTH })
  } catch (thrown) {
    if (!(thrown instanceof JsonLimitError)) throw thrown
    throw invalidJson(LIMIT_SENTENCES[thrown.limit])
  }
}

const LIMIT_SENTENCES: Readonly<Record<keyof JsonLimits, string>> = {
  maxDepth: `it nests deeper than ${LIMITS.maxDepth} levels`,
  maxValues: `it holds more than ${LIMITS.maxValues} values`,
  maxMembers: `it has more than ${LIMITS.maxMembers} members`,
}

function invalidJson(why: string): GatewayError {
  return new GatewayError("invalid_json", `The request body cannot be read: ${why}.`)
}
