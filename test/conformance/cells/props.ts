// The tools, files and texts of the cells, and functions that find them in a received request.
import type {
  MatrixJson,
  MatrixRequest,
  MatrixTool,
  MatrixToolCall,
  MediaFile,
  ReceivedConversation,
  ReceivedPart,
} from "../conversation.ts"
import { list, members, text, type WireMembers } from "../wire.ts"

export const INSTRUCTIONS = "You are terse. Antworte höflich."

/** A picture of one dot. */
export const PICTURE: MediaFile = {
  mediaType: "image/png",
  base64: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
}

const PDF = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 0/Kids[]>>endobj\n%%EOF\n"
export const DOCUMENT = {
  mediaType: "application/pdf",
  base64: Buffer.from(PDF).toString("base64"),
  name: "report.pdf",
}

export const WEATHER: MatrixTool = {
  name: "get_weather",
  description: "The weather in a city.",
  schema: {
    type: "object",
    properties: { city: { type: "string", description: "Its name." }, unit: { type: "string", enum: ["C", "F"] } },
    required: ["city"],
  },
}

export const TIME: MatrixTool = {
  name: "get_time",
  description: "The time in a city.",
  schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
}

export const CALL: MatrixToolCall = { id: "call_a1B2c3D4", name: "get_weather", arguments: { city: "Köln", unit: "C" } }

export function requestOf(question: string): MatrixRequest {
  return { instructions: INSTRUCTIONS, turns: [{ by: "user", parts: [{ text: question }] }] }
}

/** A schema without what dialects differ in: words in capitals, order, and keywords that not all of them have. */
export function essence(schema: unknown): MatrixJson {
  const { type, properties, required, enum: values, items } = members(schema)
  return {
    ...(type !== undefined && { type: text(type).toLowerCase() }),
    ...(properties !== undefined && { properties: essences(members(properties)) }),
    ...(required !== undefined && { required: list(required).map(text).sort() }),
    ...(values !== undefined && { enum: list(values) as MatrixJson[] }),
    ...(items !== undefined && { items: essence(items) }),
  }
}

function essences(properties: WireMembers): { [name: string]: MatrixJson } {
  const names = Object.keys(properties).sort()
  return Object.fromEntries(names.map((name) => [name, essence(properties[name])]))
}

export function toolEssence({ name, description, schema }: MatrixTool): MatrixJson {
  return { name, description, schema: essence(schema) }
}

function partsOf({ turns }: ReceivedConversation): ReceivedPart[] {
  return turns.flatMap(({ parts }) => parts)
}

export function callsIn(received: ReceivedConversation): MatrixToolCall[] {
  return partsOf(received).flatMap((part) => (part.kind === "call" ? [part.call] : []))
}

type ReceivedResult = Extract<ReceivedPart, { kind: "result" }>

/** Each result with the call it is attached to. */
export function resultsIn(
  received: ReceivedConversation,
): (ReceivedResult & { readonly of: MatrixToolCall | undefined })[] {
  const calls = callsIn(received)
  return partsOf(received).flatMap((part) =>
    part.kind === "result" ? [{ ...part, of: calls.find(({ id }) => id === part.callId) }] : [],
  )
}

export function mediaIn(received: ReceivedConversation, kind: "image" | "document"): MediaFile[] {
  return partsOf(received).flatMap((part) => (part.kind === kind ? [part.media] : []))
}

export function sealsIn(received: ReceivedConversation): string[] {
  return partsOf(received).flatMap((part) => ("seal" in part && part.seal !== undefined ? [part.seal] : []))
}

/** The texts of each turn, with its role. */
export function textsIn({ turns }: ReceivedConversation): string[][] {
  return turns.map(({ by, parts }) => [by, ...parts.flatMap((part) => (part.kind === "text" ? [part.text] : []))])
}
