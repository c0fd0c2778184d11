// A generateContent request in canonical words. The model and the method stand in its path.

import type { ChatRequest, ConversationTurn } from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart } from "../../../../canonical/chat/content-part.ts"
import { openSeal } from "../../../../canonical/chat/sealed-content.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { RequestEnvelope } from "../../../contract.ts"
import { runFieldChecks } from "../../../field-checks.ts"
import { takeRouting } from "../../../gateway-extension.ts"
import { countedRequest } from "../count-tokens.ts"
import { readPath } from "../endpoints.ts"
import { GeminiFieldReader, list, PROTOCOL, text } from "../passthrough-fields.ts"
import { PartDecoder } from "./decode-part.ts"
import { decodeSettings } from "./decode-settings.ts"
import { decodeToolChoice, decodeTools } from "./decode-tools.ts"

/** Calls that came without an id; when they go to this protocol again, they go without one. */
const UNNAMED = "call_unnamed_"

export function isUnnamed(id: string): boolean {
  return id.startsWith(UNNAMED)
}

export function decodeRequest(body: JsonObject, envelope: RequestEnvelope): ChatRequest {
  const { model, method } = readPath(envelope.rest)
  const members = new GeminiFieldReader(method === "countTokens" ? countedRequest(body) : body)
  members.take("model", (value) => value)
  const routing = runFieldChecks(() => takeRouting((name) => members.take(name, (value) => value)))
  const decoder = new PartDecoder({
    mintId: (nth) => `${UNNAMED}${nth}`,
    seal: (signature) => openSeal(signature) ?? { mintedBy: PROTOCOL, data: signature },
  })
  const instructions = members.within("systemInstruction", (content, name) => {
    // Whatever role it names, it means nothing.
    content.take("role", (value) => value)
    return decoder.parts(content.take("parts", list) ?? [], `${name}.parts`)
  })
  const turns = members.take("contents", (value) => decodeTurns(value, decoder))
  const tools = members.take("tools", (value) => (Array.isArray(value) ? decodeTools(value) : undefined))
  const toolChoice = members.within("toolConfig", decodeToolChoice)
  const settings = members.within("generationConfig", decodeSettings)
  const extra = members.rest()
  return {
    model,
    instructions: instructions ?? [],
    turns: turns ?? [],
    tools: tools ?? [],
    ...(toolChoice && { toolChoice }),
    settings: settings ?? {},
    stream: method === "streamGenerateContent",
    routing,
    ...(extra && { extra }),
  }
}

function decodeTurns(value: Json, decoder: PartDecoder): readonly ConversationTurn[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.flatMap((content: Json, index) => {
    const at = `contents[${index}]`
    return isObject(content) ? [{ at, ...decodeTurn(content, (parts) => decoder.parts(parts, `${at}.parts`)) }] : []
  })
}

function decodeTurn(content: JsonObject, partsOf: (parts: readonly Json[]) => ContentPart[]): ConversationTurn {
  const members = new GeminiFieldReader(content)
  const role = members.take("role", (value) => ROLES[text(value) ?? ""]) ?? "user"
  const parts = partsOf(members.take("parts", list) ?? [])
  const extra = members.rest()
  return { role, parts, ...(extra && { extra }) }
}

/** No role is the user's. Another spelling of the user's rides along. */
const ROLES: Readonly<Record<string, ConversationTurn["role"]>> = { user: "user", model: "assistant", "": "user" }
