// Images as they pass in the relay lane: nothing in them names a model, so nothing is changed.
import type { Usage } from "../../canonical/usage.ts"
import { findMember, type Outline } from "../../transport/json-scan.ts"
import { memberValue } from "../member.ts"
import { decodeUsage } from "./usage.ts"

export function relayAnswer(text: string, outlined: Outline): { text: string; usage?: Usage } | undefined {
  if (!findMember(outlined, "data")) return undefined
  const usage = decodeUsage(memberValue(text, outlined, "usage"))
  return { text, ...(usage && { usage }) }
}
