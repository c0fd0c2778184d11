// A provider without a network: takes what an upstream would be sent, answers as one would.
import type { JsonObject } from "../canonical/json.ts"
import type { Send } from "../transport/http-client.ts"
import { answerChat } from "./openai-chat.ts"

export const simulator: Send = async ({ url, body }) => {
  if (url.endsWith("/chat/completions")) return answerChat(parse(body))
  return Response.json({ error: { message: `The simulator has no ${url}.` } }, { status: 404 })
}

/** The gateway has checked the body before it gets here. */
function parse(body: string | Uint8Array): JsonObject {
  return JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body))
}
