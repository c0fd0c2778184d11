// Relays images: the response names no model, so nothing changes.
import { findMember, type JsonOutline } from "../../../transport/json/json-scan.ts"
import type { RelayedResponse } from "../../contract.ts"
import { memberValue } from "../../response-member.ts"
import { decodeUsage } from "./usage.ts"

export function relayAnswer(text: string, outlined: JsonOutline): RelayedResponse | undefined {
  if (!findMember(outlined, "data")) return undefined
  const usage = decodeUsage(memberValue(text, outlined, "usage"))
  return { text, images: imagesIn(text), ...(usage && { usage }) }
}

/** An image has one of the two; within a string the quotes would be escaped. */
function imagesIn(text: string): number {
  return text.match(/"(?:b64_json|url)"\s*:\s*"/g)?.length ?? 0
}
