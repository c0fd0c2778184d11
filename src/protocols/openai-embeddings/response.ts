// Embeddings as they pass in the relay lane, and what they used.
import { isObject, type JsonObject } from "../../canonical/json.ts"
import type { Usage } from "../../canonical/usage.ts"
import { findMember, type Outline } from "../../transport/json-scan.ts"
import { asciiJson, splice } from "../../transport/json-splice.ts"
import type { RelayContext } from "../contract.ts"
import { memberValue } from "../member.ts"
import { count, reported } from "../token-count.ts"

export function relayAnswer(
  text: string,
  outlined: Outline,
  { model }: RelayContext,
): { text: string; usage?: Usage } | undefined {
  if (!findMember(outlined, "data")) return undefined
  const wire = memberValue(text, outlined, "usage")
  const usage = isObject(wire) ? usageIn(wire) : undefined
  const passed = splice(text, [{ path: ["model"], set: asciiJson(model) }], outlined)
  return { text: passed, ...(usage && { usage }) }
}

function usageIn(wire: JsonObject): Usage | undefined {
  const input = count(wire, "prompt_tokens") ?? count(wire, "total_tokens")
  return reported(wire, input === undefined ? {} : { input })
}
