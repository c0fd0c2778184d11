// What Amazon Bedrock says was put in, where it says so in a body.
import type { JsonObject } from "../../canonical/json.ts"
import { readCountDetails, readTokenCount } from "./token-counts.ts"

export function bedrockInputTokens(body: JsonObject): number | undefined {
  return readTokenCount(readCountDetails(body, "amazon-bedrock-invocationMetrics"), "inputTokenCount")
}
