// Usage of images that is counted in tokens: text and image input, image output.
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import type { Usage } from "../../../canonical/usage.ts"
import { readCountDetails, readTokenCount, reportedUsage } from "../../usage/token-counts.ts"

export function decodeUsage(wire: Json | undefined): Usage | undefined {
  if (!isObject(wire)) return undefined
  const input = readTokenCount(wire, "input_tokens")
  const total = readTokenCount(wire, "output_tokens")
  const imageInput = readTokenCount(readCountDetails(wire, "input_tokens_details"), "image_tokens")
  const output = readTokenCount(readCountDetails(wire, "output_tokens_details"), "text_tokens")
  return reportedUsage(wire, {
    ...(input !== undefined && { input: Math.max(0, input - (imageInput ?? 0)) }),
    ...(imageInput !== undefined && { imageInput }),
    ...(output !== undefined && { output }),
    ...(total !== undefined && { imageOutput: Math.max(0, total - (output ?? 0)) }),
  })
}

/** The reverse of `decodeUsage`. Unknown counts are 0, because the shape requires numbers. */
export function encodeUsage(usage: Usage): JsonObject {
  const { input = 0, cacheRead = 0, cacheWrite = 0, imageInput = 0 } = usage
  const { output = 0, reasoning = 0, imageOutput = 0 } = usage
  const words = input + cacheRead + cacheWrite
  const textTokens = output + reasoning
  return {
    input_tokens: words + imageInput,
    input_tokens_details: { text_tokens: words, image_tokens: imageInput },
    output_tokens: textTokens + imageOutput,
    output_tokens_details: { text_tokens: textTokens, image_tokens: imageOutput },
    total_tokens: words + imageInput + textTokens + imageOutput,
  }
}
