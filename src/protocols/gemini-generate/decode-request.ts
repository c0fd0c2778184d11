// A generateContent request in canonical words. The model and the method stand in its path.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { Part } from "../../canonical/part.ts"
import type { ChatRequest, Turn } from "../../canonical/request.ts"
import { openSeal } from "../../canonical/sealed.ts"
import { checked } from "../check.ts"
import type { Envelope } from "../contract.ts"
import { takeRouting } from "../extension.ts"
import { countedRequest } from "./count.ts"
import { PartDecoder } from "./decode-part.ts"
import { decodeSettings } from "./decode-settings.ts"
import { decodeToolChoice, decodeTools } from "./decode-tools.ts"
import { readPath } from "./endpoints.ts"
import { list, Members, PROTOCOL, text } from "./members.ts"

/** Calls that came without an id; when they go to this protocol again, they go without one. */
const UNNAMED = "call_unnamed_"

export function isUnnamed(id: string): boolean {
  return id.startsWith(UNNAMED)
}

export function decodeRequest(body: JsonObject, envelope: Envelope): ChatRequest {
  const { model, method } = readPath(envelope.rest)
  const members = new Members(method === "countTokens" ? countedRequest(body) : body)
  members.take("model", (value) => value)
  const routing = checked(() => takeRouting((name) => members.take(name, (value) => value)))
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

function decodeTurns(value: Json, decoder: PartDecoder): readonly Turn[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.flatMap((content: Json, index) => {
    const at = `contents[${index}]`
    return isObject(content) ? [{ at, ...decodeTurn(content, (parts) => decoder.parts(parts, `${at}.parts`)) }] : []
  })
}

function decodeTurn(content: JsonObject, partsOf: (parts: readonly Json[]) => Part[]): Turn {
  const members = new Members(content)
  const role = members.take("role", (value) => ROLES[text(value) ?? ""]) ?? "user"
  const parts = partsOf(members.take("parts", list) ?? [])
  const extra = members.rest()
  return { role, parts, ...(extra && { extra }) }
}

/** No role is the user's. Another spelling of the user's rides along. */
const ROLES: Readonly<Record<string, Turn["role"]>> = { user: "user", model: "assistant", "": "user" }
