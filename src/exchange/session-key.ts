// A key for the conversation of a request, read from its text, so that the request can go where its prompt cache is. A
// collision only costs a cache hit.
import {
  CONVERSATION_MEMBERS,
  INSTRUCTION_MESSAGE,
  METADATA_MEMBER,
  METADATA_USER_ID,
  SESSION_MEMBER,
} from "../protocols/request-members.ts"
import { findMember, type JsonOutline } from "../transport/json/json-scan.ts"

/** A text and where its outermost members stand. */
interface SessionRequest {
  readonly text: string
  readonly outline: JsonOutline
}

/** Whose it is. */
interface SessionOwner {
  readonly keyId: string
  readonly model: string
}

/** No host caches what is shorter than about a thousand tokens. */
const LEAST_CACHED_LENGTH = 4096
/** Of a name or a message no more is looked at. */
const LOOKED_AT = 1024
/** Bytes before the first message that are skipped at most. */
const MAX_SKIPPED = 256 * 1024

/** Undefined where it is too short to be cached anywhere, unless the caller gives it a name. */
export function sessionKeyOf(request: SessionRequest, { keyId, model }: SessionOwner): string | undefined {
  const name = findSessionName(request) ?? findFirstMessage(request)
  return name === undefined ? undefined : `${keyId}\n${model}\n${hashOf(name)}`
}

function findSessionName({ text, outline }: SessionRequest): string | undefined {
  const key = findMember(outline, SESSION_MEMBER)
  if (key) return text.slice(key.valueStart, Math.min(key.end, key.valueStart + LOOKED_AT))
  const metadata = findMember(outline, METADATA_MEMBER)
  return (
    metadata &&
    METADATA_USER_ID.exec(text.slice(metadata.valueStart, Math.min(metadata.end, metadata.valueStart + LOOKED_AT)))?.[1]
  )
}

/** The first message that is no instruction. */
function findFirstMessage({ text, outline }: SessionRequest): string | undefined {
  if (text.length < LEAST_CACHED_LENGTH) return undefined
  for (const name of CONVERSATION_MEMBERS) {
    const member = findMember(outline, name)
    if (member) return firstMessage(text.slice(member.valueStart, member.end))
  }
  return undefined
}

function firstMessage(text: string): string {
  if (!text.startsWith("[")) return text.slice(0, LOOKED_AT)
  for (let start = 1; start < Math.min(text.length, MAX_SKIPPED); ) {
    const end = endOfValue(text, start)
    const beginning = text.slice(start, Math.min(end, start + LOOKED_AT))
    if (!INSTRUCTION_MESSAGE.test(beginning)) return beginning
    start = end
  }
  return text.slice(0, LOOKED_AT)
}

/** The place after the next array or object, or after the text. */
function endOfValue(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const character = text[at]
    if (character === '"') at = endOfString(text, at)
    else if (character === "{" || character === "[") depth++
    else if ((character === "}" || character === "]") && --depth <= 0) return at + 1
  }
  return text.length
}

/** The place of the closing quote. */
function endOfString(text: string, opening: number): number {
  for (let at = text.indexOf('"', opening + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0
    while (text[at - 1 - escapes] === "\\") escapes++
    if (escapes % 2 === 0) return at
  }
  return text.length
}

/** 53 bits, fast; a forged collision only costs its author a cache hit. */
function hashOf(text: string): string {
  let low = 0xdeadbeef
  let high = 0x41c6ce57
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    low = Math.imul(low ^ code, 2_654_435_761)
    high = Math.imul(high ^ code, 1_597_334_677)
  }
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909)
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909)
  return (4_294_967_296 * (2_097_151 & high) + (low >>> 0)).toString(36)
}
