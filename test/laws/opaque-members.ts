// The opaque members of each protocol and their formats: libraries decode some of them, and vendors reject others when
// they return.
import type { Json } from "../../src/canonical/json.ts"
import { visitMembers } from "./member-paths.ts"

interface OpaqueFormat {
  readonly pattern: RegExp
  readonly maxLength?: number
  /** Whether strict decoders of base64 accept it: standard alphabet, padding, no bits left over. */
  readonly base64?: boolean
}

const BASE64: OpaqueFormat = { pattern: /^[A-Za-z0-9+/]+={0,2}$/, base64: true }
/** OpenAI's own are in the other alphabet. */
const ANY_BASE64: OpaqueFormat = { pattern: /^[A-Za-z0-9+/_-]+={0,2}$/ }
/** A thinking block begins without its signature, and stays so where there is none. */
const BASE64_OR_NONE: OpaqueFormat = { pattern: /^(?:[A-Za-z0-9+/]+={0,2})?$/, base64: true }
const item = (prefix: string): OpaqueFormat => ({
  pattern: new RegExp(`^(?:${prefix})_[A-Za-z0-9_-]+$`),
  maxLength: 64,
})
const RESPONSES_CALL: OpaqueFormat = { pattern: /^[\x21-\x7e]+$/, maxLength: 64 }
const CHAT_CALL: OpaqueFormat = { pattern: /^[\x21-\x7e]+$/, maxLength: 40 }

/** In answers to clients. */
const OPAQUE_MEMBERS: Readonly<Record<string, Readonly<Record<string, OpaqueFormat>>>> = {
  "anthropic-messages": {
    "message.id": { pattern: /^msg_[A-Za-z0-9_-]+$/ },
    "message_start.message.id": { pattern: /^msg_[A-Za-z0-9_-]+$/ },
    "thinking.signature": BASE64_OR_NONE,
    "signature_delta.signature": BASE64,
    "redacted_thinking.data": BASE64,
    "tool_use.id": { pattern: /^[a-zA-Z0-9_-]+$/ },
    "server_tool_use.id": { pattern: /^srvtoolu_[a-zA-Z0-9_]+$/ },
  },
  "openai-responses": {
    "response.id": item("resp"),
    "message.id": item("msg"),
    "reasoning.id": item("rs"),
    "reasoning.encrypted_content": ANY_BASE64,
    "function_call.id": item("fc"),
    "function_call.call_id": RESPONSES_CALL,
    "custom_tool_call.id": item("ctc|ct"),
    "custom_tool_call.call_id": RESPONSES_CALL,
  },
  "openai-chat": {
    "chat.completion.id": { pattern: /^chatcmpl-\S+$/ },
    "chat.completion.chunk.id": { pattern: /^(?:chatcmpl-\S+)?$/ },
    "function.id": CHAT_CALL,
    "custom.id": CHAT_CALL,
  },
  "gemini-generate": {
    "candidates[].content.parts[].thoughtSignature": BASE64,
    "candidates[].content.parts[].functionCall.id": { pattern: /^\S+$/, maxLength: 256 },
  },
}

/** In requests: what ids of calls the vendors take. */
export const CALL_IDS: Readonly<Record<string, OpaqueFormat>> = {
  "anthropic-messages": { pattern: /^[a-zA-Z0-9_-]+$/ },
  "openai-responses": RESPONSES_CALL,
  "openai-chat": CHAT_CALL,
  "gemini-generate": { pattern: /^\S+$/, maxLength: 256 },
  "bedrock-converse": { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 },
  mistral: { pattern: /^[a-zA-Z0-9]{9}$/ },
}

/** The opaque members of an answer that do not look as they must. */
export function opaqueFaults(protocol: string, value: Json): string[] {
  const formats = OPAQUE_MEMBERS[protocol] ?? {}
  const faults: string[] = []
  visitMembers(value, (path, member) => {
    const format = Object.hasOwn(formats, path) ? formats[path] : undefined
    // Some are null while an item begins.
    if (format && member !== null && !fits(member, format)) faults.push(`${path}: ${JSON.stringify(member)}`)
  })
  return faults
}

export function fits(value: Json, { pattern, maxLength = Number.POSITIVE_INFINITY, base64 }: OpaqueFormat): boolean {
  if (typeof value !== "string" || !pattern.test(value) || value.length > maxLength) return false
  return !base64 || Buffer.from(value, "base64").toString("base64") === value
}
