// A unary response: how it passes in the relay lane, and what its status means.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { Finish } from "../../canonical/response.ts"
import type { Usage } from "../../canonical/usage.ts"
import { findMember, type Outline } from "../../transport/json-scan.ts"
import { asciiJson, splice } from "../../transport/json-splice.ts"
import type { RelayContext } from "../contract.ts"
import { memberValue } from "../member.ts"
import { decodeUsage } from "./usage.ts"

export function relayAnswer(
  text: string,
  outlined: Outline,
  { model }: RelayContext,
): { text: string; usage?: Usage } | undefined {
  const failed = memberValue(text, outlined, "status") === "failed"
  if (failed || !findMember(outlined, "output")) return undefined
  const usage = decodeUsage(memberValue(text, outlined, "usage"))
  const passed = splice(text, [{ path: ["model"], set: asciiJson(model) }], outlined)
  return { text: passed, ...(usage && { usage }) }
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
