// Decodes a generateContent request. The model and the method are in its path.

import type { ChatRequest } from "../../../../canonical/chat/chat-request.ts"
import { openSeal } from "../../../../canonical/chat/sealed-content.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { runFieldChecks } from "../../../../canonical/schema/field-mismatch.ts"
import type { RequestEnvelope } from "../../../contract.ts"
import { takeRouting } from "../../../gateway-extension.ts"
import { countedRequest } from "../count-tokens.ts"
import { readPath } from "../endpoints.ts"
import { GeminiFieldReader, list, PROTOCOL } from "../passthrough-fields.ts"
import { decodeMessages } from "./decode-messages.ts"
import { PartDecoder } from "./decode-part.ts"
import { decodeSettings } from "./decode-settings.ts"
import { decodeToolChoice, decodeTools } from "./decode-tools.ts"

/** Prefix of ids for calls without one; encoded to this protocol again, they have none. */
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
    // Its role has no meaning.
    content.take("role", (value) => value)
    return decoder.parts(content.take("parts", list) ?? [], `${name}.parts`)
  })
  const turns = members.take("contents", (value) => decodeMessages(value, decoder))
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
