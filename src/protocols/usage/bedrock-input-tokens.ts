// Reads the input tokens that Amazon Bedrock reports in a body.
import type { JsonObject } from "../../canonical/json.ts"
import { readCountDetails, readTokenCount } from "./token-counts.ts"

export function bedrockInputTokens(body: JsonObject): number | undefined {
  return readTokenCount(readCountDetails(body, "amazon-bedrock-invocationMetrics"), "inputTokenCount")
}
