// Edits a unary response in the relay lane.

import { findMember, type JsonOutline } from "../../../transport/json/json-scan.ts"
import { asciiJson, asciiOf, type JsonEdit, spliceJson } from "../../../transport/json/json-splice.ts"
import type { RelayContext, RelayedResponse, RequestSummary, ResponseStorage } from "../../contract.ts"
import { memberText, memberValue } from "../../response-member.ts"
import { relayedUsage } from "../../usage/relayed-usage.ts"
import { isStored } from "./response-storage.ts"
import { decodeUsage, encodeUsage } from "./usage.ts"

export function relayAnswer(
  text: string,
  outlined: JsonOutline,
  { model, reading }: RelayContext,
): RelayedResponse | undefined {
  if (reading.counts) return findMember(outlined, "input_tokens") ? { text } : undefined
  const failed = memberValue(text, outlined, "status") === "failed"
  if (failed || !findMember(outlined, "output")) return undefined
  const usage = decodeUsage(memberValue(text, outlined, "usage"))
  const edits: JsonEdit[] = [
    { path: ["model"], set: asciiJson(model) },
    ...storageEdits(reading.storage, { length: text.length }),
    ...echoEdits(reading, text),
  ]
  const passed = spliceJson(text, edits, outlined)
  return {
    text: passed,
    ...relayedUsage(passed, { usage, member: "usage", encodeUsage }),
    model: memberText(text, outlined, "model"),
  }
}

/** The response repeats the request: identifiers as the caller wrote them, not as they were sent. */
export function echoEdits({ identifiers = [] }: RequestSummary, text: string, at: readonly string[] = []): JsonEdit[] {
  const echoed = identifiers.filter(({ path }) => text.includes(`"${path[0]}"`))
  return echoed.map(({ path, value }) => ({ path: [...at, ...path], set: asciiOf(value) }))
}

interface StoredResponseLocation {
  /** Length of the text that contains the response. */
  readonly length: number
  /** The path to it there. */
  readonly at?: readonly string[]
}

/** The gateway sets the members about storage. */
export function storageEdits(
  storage: ResponseStorage | undefined,
  { length, at = [] }: StoredResponseLocation,
): JsonEdit[] {
  if (storage?.id === undefined) return []
  return [
    { path: [...at, "id"], set: asciiJson(storage.id) },
    { path: [...at, "store"], set: String(isStored(storage, length)) },
    { path: [...at, "previous_response_id"], set: asciiOf(storage.previous ?? null) },
  ]
}
