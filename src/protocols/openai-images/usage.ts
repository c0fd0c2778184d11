// What images used, where it is counted in tokens: text and images in, images out.
import { isObject, type Json } from "../../canonical/json.ts"
import type { Usage } from "../../canonical/usage.ts"
import { count, detail, reported } from "../token-count.ts"

export function decodeUsage(wire: Json | undefined): Usage | undefined {
  if (!isObject(wire)) return undefined
  const input = count(wire, "input_tokens")
  const made = count(wire, "output_tokens")
  const imageInput = count(detail(wire, "input_tokens_details"), "image_tokens")
  const output = count(detail(wire, "output_tokens_details"), "text_tokens")
  return reported(wire, {
    ...(input !== undefined && { input: Math.max(0, input - (imageInput ?? 0)) }),
    ...(imageInput !== undefined && { imageInput }),
    ...(output !== undefined && { output }),
    ...(made !== undefined && { imageOutput: Math.max(0, made - (output ?? 0)) }),
  })
}
