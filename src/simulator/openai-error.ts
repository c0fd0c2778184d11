// OpenAI's errors, as all of its endpoints write them.
import type { JsonObject } from "../canonical/json.ts"
import { Refusal } from "./call.ts"

export function refuseOpenai({ message, detail }: Refusal, status = 400): Response {
  const { param = null, code = null } = detail
  return Response.json({ error: { message, type: "invalid_request_error", param, code } }, { status })
}

export function missing(param: string): Refusal {
  return new Refusal(`Missing required parameter: '${param}'.`, { param, code: "missing_required_parameter" })
}

export function requireModel({ model }: JsonObject): string {
  if (typeof model !== "string" || model === "") throw missing("model")
  return model
}
