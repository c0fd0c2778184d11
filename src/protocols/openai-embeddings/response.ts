// Embeddings as they pass in the relay lane, and what they used.
import { isObject } from "../../canonical/json.ts"
import type { Usage } from "../../canonical/usage.ts"
import { findMember, type Outline } from "../../transport/json-scan.ts"
import { asciiJson, splice } from "../../transport/json-splice.ts"
import type { RelayContext } from "../contract.ts"
import { memberValue } from "../member.ts"
import { count } from "../token-count.ts"

export function relayAnswer(
  text: string,
  outlined: Outline,
  { model }: RelayContext,
): { text: string; usage?: Usage } | undefined {
  if (!findMember(outlined, "data")) return undefined
  const wire = memberValue(text, outlined, "usage")
  const input = isObject(wire) ? (count(wire, "prompt_tokens") ?? count(wire, "total_tokens")) : undefined
  const passed = splice(text, [{ path: ["model"], set: asciiJson(model) }], outlined)
  return { text: passed, ...(input !== undefined && { usage: { input } }) }
}
