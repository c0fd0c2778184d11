// A judgement as it passes in the relay lane. OpenAI does not say what it used; others do.
import { isObject } from "../../canonical/json.ts"
import type { Usage } from "../../canonical/usage.ts"
import { findMember, type Outline } from "../../transport/json-scan.ts"
import { asciiJson, splice } from "../../transport/json-splice.ts"
import type { RelayContext } from "../contract.ts"
import { memberValue } from "../member.ts"
import { usageIn } from "../openai-vectors.ts"

export function relayAnswer(
  text: string,
  outlined: Outline,
  { model }: RelayContext,
): { text: string; usage?: Usage } | undefined {
  if (!findMember(outlined, "results")) return undefined
  const wire = memberValue(text, outlined, "usage")
  const usage = isObject(wire) ? usageIn(wire) : undefined
  return { text: splice(text, [{ path: ["model"], set: asciiJson(model) }], outlined), ...(usage && { usage }) }
}
