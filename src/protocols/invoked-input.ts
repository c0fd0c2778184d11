// What Amazon Bedrock says was put in, where it says so in a body.
import type { JsonObject } from "../canonical/json.ts"
import { count, detail } from "./token-count.ts"

export function invokedInput(body: JsonObject): number | undefined {
  return count(detail(body, "amazon-bedrock-invocationMetrics"), "inputTokenCount")
}
