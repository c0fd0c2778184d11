// Embeddings as they pass in the relay lane, and what they used. Where a host writes vectors otherwise than they were
// asked for, they are written anew; else every byte of them stays.
import { base64Of, floatsOf, vectorIn } from "../../canonical/embedding.ts"
import { isObject, type Json } from "../../canonical/json.ts"
import { findMember, type Outline } from "../../transport/json-scan.ts"
import { asciiJson, type Edit, splice } from "../../transport/json-splice.ts"
import type { RelayContext, RelayedAnswer } from "../contract.ts"
import { memberValue } from "../member.ts"
import { encodeUsage, usageIn } from "../openai-vectors.ts"
import { usageReported } from "../usage-reported.ts"
import { isPacked } from "./request.ts"

export function relayAnswer(
  text: string,
  outlined: Outline,
  { model, reading }: RelayContext,
): RelayedAnswer | undefined {
  const data = findMember(outlined, "data")
  if (!data) return undefined
  const wire = memberValue(text, outlined, "usage")
  const usage = isObject(wire) ? usageIn(wire) : undefined
  const edits: Edit[] = [{ path: ["model"], set: asciiJson(model) }]
  const packs = isPacked(reading.operation)
  if (isWrittenOtherwise(text.slice(data.valueStart, data.end), packs)) {
    edits.push({ path: ["data"], set: JSON.stringify(rewritten(memberValue(text, outlined, "data") ?? null, packs)) })
  }
  const passed = splice(text, edits, outlined)
  return { text: passed, ...usageReported(passed, { usage, member: "usage", encodeUsage }) }
}

const FIRST = /"embedding"\s*:\s*(["[])/

/** The first tells of all. */
function isWrittenOtherwise(data: string, packs: boolean): boolean {
  const [, opening] = FIRST.exec(data) ?? []
  return opening !== undefined && (opening === '"') !== packs
}

function rewritten(data: Json, packs: boolean): Json {
  if (!Array.isArray(data)) return data
  return data.map((item: Json) => {
    const vector = isObject(item) ? vectorIn(item.embedding) : undefined
    if (!isObject(item) || !vector) return item
    return { ...item, embedding: packs ? base64Of(vector) : floatsOf(vector) }
  })
}
