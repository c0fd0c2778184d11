// Google's errors, as all of its endpoints write them.
import type { Refusal } from "./call.ts"

export function refuseGemini({ message }: Refusal): Response {
  return Response.json({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }, { status: 400 })
}
