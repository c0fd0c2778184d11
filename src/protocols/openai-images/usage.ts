// What images used, where it is counted in tokens: text and images in, images out.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { Usage } from "../../canonical/usage.ts"

export function decodeUsage(wire: Json | undefined): Usage | undefined {
  if (!isObject(wire)) return undefined
  const input = count(wire, "input_tokens")
  const made = count(wire, "output_tokens")
  if (input === undefined && made === undefined) return undefined
  const details = isObject(wire.input_tokens_details) ? wire.input_tokens_details : {}
  const imageInput = count(details, "image_tokens")
  const outputDetails = isObject(wire.output_tokens_details) ? wire.output_tokens_details : {}
  const output = count(outputDetails, "text_tokens")
  return {
    ...(input !== undefined && { input: Math.max(0, input - (imageInput ?? 0)) }),
    ...(imageInput !== undefined && { imageInput }),
    ...(output !== undefined && { output }),
    ...(made !== undefined && { imageOutput: Math.max(0, made - (output ?? 0)) }),
  }
}

function count(wire: JsonObject, name: string): number | undefined {
  const value = wire[name]
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
