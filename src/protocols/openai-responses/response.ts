// A unary response: how it passes in the relay lane, and what its status means.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { Finish } from "../../canonical/response.ts"
import { findMember, type Outline } from "../../transport/json-scan.ts"
import { asciiJson, asciiOf, type Edit, splice } from "../../transport/json-splice.ts"
import type { Kept, Reading, RelayContext, RelayedAnswer } from "../contract.ts"
import { memberText, memberValue } from "../member.ts"
import { usageReported } from "../usage-reported.ts"
import { isKept } from "./kept.ts"
import { decodeUsage, encodeUsage } from "./usage.ts"

export function relayAnswer(
  text: string,
  outlined: Outline,
  { model, reading }: RelayContext,
): RelayedAnswer | undefined {
  if (reading.counts) return findMember(outlined, "input_tokens") ? { text } : undefined
  const failed = memberValue(text, outlined, "status") === "failed"
  if (failed || !findMember(outlined, "output")) return undefined
  const usage = decodeUsage(memberValue(text, outlined, "usage"))
  const edits: Edit[] = [
    { path: ["model"], set: asciiJson(model) },
    ...keptEdits(reading.kept, { length: text.length }),
    ...echoEdits(reading, text),
  ]
  const passed = splice(text, edits, outlined)
  return {
    text: passed,
    ...usageReported(passed, { usage, member: "usage", encodeUsage }),
    model: memberText(text, outlined, "model"),
  }
}

/** The response repeats what was asked: identifiers as the caller wrote them, and not as they were sent. */
export function echoEdits({ identifiers = [] }: Reading, text: string, at: readonly string[] = []): Edit[] {
  const echoed = identifiers.filter(({ path }) => text.includes(`"${path[0]}"`))
  return echoed.map(({ path, value }) => ({ path: [...at, ...path], set: asciiOf(value) }))
}

interface Place {
  /** Of the text that the response stands in. */
  readonly length: number
  /** The path to it there. */
  readonly at?: readonly string[]
}

/** What a response says of being kept is the gateway's to say. */
export function keptEdits(kept: Kept | undefined, { length, at = [] }: Place): Edit[] {
  if (kept?.id === undefined) return []
  return [
    { path: [...at, "id"], set: asciiJson(kept.id) },
    { path: [...at, "store"], set: String(isKept(kept, length)) },
    { path: [...at, "previous_response_id"], set: asciiOf(kept.previous ?? null) },
  ]
}

interface Ending {
  readonly calledTools: boolean
  readonly refused: boolean
}

export function decodeFinish({ incomplete_details }: JsonObject, { calledTools, refused }: Ending): Finish {
  const reason: Json | undefined = isObject(incomplete_details) ? incomplete_details.reason : undefined
  if (reason === "max_output_tokens") return { reason: "length", word: reason }
  if (reason === "content_filter") return { reason: "filtered", word: reason }
  if (typeof reason === "string") return { reason: "other", word: reason }
  if (calledTools) return { reason: "tool-calls" }
  return { reason: refused ? "refusal" : "stop" }
}
