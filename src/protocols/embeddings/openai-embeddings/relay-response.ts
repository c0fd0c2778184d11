// Relays embeddings and reads their usage. Vectors are rewritten only if a host uses another encoding than requested;
// otherwise every byte stays.
import { base64Of, floatsOf, vectorIn } from "../../../canonical/embedding.ts"
import { isObject, type Json } from "../../../canonical/json.ts"
import { findMember, type JsonOutline } from "../../../transport/json/json-scan.ts"
import { asciiJson, type JsonEdit, spliceJson } from "../../../transport/json/json-splice.ts"
import type { RelayContext, RelayedResponse } from "../../contract.ts"
import { decodeVectorUsage, encodeUsage } from "../../openai/openai-vectors.ts"
import { memberValue } from "../../response-member.ts"
import { relayedUsage } from "../../usage/relayed-usage.ts"
import { isPacked } from "./read-request.ts"

export function relayAnswer(
  text: string,
  outlined: JsonOutline,
  { model, reading }: RelayContext,
): RelayedResponse | undefined {
  const data = findMember(outlined, "data")
  if (!data) return undefined
  const wire = memberValue(text, outlined, "usage")
  const usage = isObject(wire) ? decodeVectorUsage(wire) : undefined
  const edits: JsonEdit[] = [{ path: ["model"], set: asciiJson(model) }]
  const packs = isPacked(reading.operation)
  if (isWrittenOtherwise(text.slice(data.valueStart, data.end), packs)) {
    edits.push({
      path: ["data"],
      set: JSON.stringify(rewriteVectors(memberValue(text, outlined, "data") ?? null, packs)),
    })
  }
  const passed = spliceJson(text, edits, outlined)
  return { text: passed, ...relayedUsage(passed, { usage, member: "usage", encodeUsage }) }
}

const FIRST = /"embedding"\s*:\s*(["[])/

/** The first vector represents all. */
function isWrittenOtherwise(data: string, packs: boolean): boolean {
  const [, opening] = FIRST.exec(data) ?? []
  return opening !== undefined && (opening === '"') !== packs
}

function rewriteVectors(data: Json, packs: boolean): Json {
  if (!Array.isArray(data)) return data
  return data.map((item: Json) => {
    const vector = isObject(item) ? vectorIn(item.embedding) : undefined
    if (!isObject(item) || !vector) return item
    return { ...item, embedding: packs ? base64Of(vector) : floatsOf(vector) }
  })
}
