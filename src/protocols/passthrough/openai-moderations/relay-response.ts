// Relays a moderation. OpenAI does not report usage; other hosts do.
import { isObject } from "../../../canonical/json.ts"
import type { Usage } from "../../../canonical/usage.ts"
import { findMember, type JsonOutline } from "../../../transport/json/json-scan.ts"
import { asciiJson, spliceJson } from "../../../transport/json/json-splice.ts"
import type { RelayContext } from "../../contract.ts"
import { decodeVectorUsage } from "../../openai/openai-vectors.ts"
import { memberValue } from "../../response-member.ts"

export function relayAnswer(
  text: string,
  outlined: JsonOutline,
  { model }: RelayContext,
): { text: string; usage?: Usage } | undefined {
  if (!findMember(outlined, "results")) return undefined
  const wire = memberValue(text, outlined, "usage")
  const usage = isObject(wire) ? decodeVectorUsage(wire) : undefined
  return { text: spliceJson(text, [{ path: ["model"], set: asciiJson(model) }], outlined), ...(usage && { usage }) }
}
