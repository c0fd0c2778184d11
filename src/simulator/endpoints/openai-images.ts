// The simulator speaking OpenAI's image generation.
import type { JsonObject } from "../../canonical/json.ts"
import { drawImage, type PictureSize } from "../generated-image.ts"
import {
  type SimulatedCall,
  type SimulatedEndpoint,
  SimulatedRefusal,
  type SimulatedReply,
  wholeNumber,
} from "../simulated-call.ts"
import { countTokens } from "../tokens.ts"
import { text } from "./json-members.ts"
import { missingParameter, openaiErrorFormat } from "./openai-error.ts"

export const openaiImages: SimulatedEndpoint = { errorFormat: () => openaiErrorFormat, answer }

const MAX_SIDE = 4096

function answer({ body }: SimulatedCall): SimulatedReply {
  const prompt = text(body.prompt)
  if (prompt === "") throw missingParameter("prompt")
  const size = readSize(body)
  const count = wholeNumber(body.n, { param: "n", from: 1, to: 10, otherwise: 1 })
  const asAddress = sendsAddress(body)
  const data = Array.from({ length: count }, (_, index) => {
    const b64_json = drawImage(`${text(body.model)} ${prompt} ${index}`, size).toString("base64")
    return asAddress ? { url: `data:image/png;base64,${b64_json}`, revised_prompt: prompt } : { b64_json }
  })
  const inputTokens = countTokens(prompt)
  const outputTokens = pictureTokens(size) * count
  const whole = {
    created: Math.floor(Date.now() / 1000),
    background: "opaque",
    data,
    output_format: "png",
    quality: text(body.quality) || "medium",
    size: `${size.width}x${size.height}`,
    usage: usageOf(inputTokens, outputTokens),
  }
  return { whole, charge: { model: text(body.model), inputTokens, outputTokens } }
}

/** Newer models only send the data; older ones send an address by default. */
function sendsAddress({ response_format, model }: JsonObject): boolean {
  if (response_format === "url" || response_format === "b64_json") return response_format === "url"
  return /dall-e/.test(text(model))
}

function readSize({ size }: JsonObject): PictureSize {
  if (size === undefined || size === null || size === "auto") return { width: 1024, height: 1024 }
  const [, width, height] = (/^(\d{1,5})x(\d{1,5})$/.exec(text(size)) ?? []).map(Number)
  const isWithin = (side: number | undefined): side is number => side !== undefined && side >= 1 && side <= MAX_SIDE
  if (isWithin(width) && isWithin(height)) return { width, height }
  throw new SimulatedRefusal(
    `Invalid value: '${text(size)}'. Expected WIDTHxHEIGHT, neither over ${MAX_SIDE}, or 'auto'.`,
    {
      param: "size",
      code: "invalid_value",
    },
  )
}

/** A picture has one token per 32 by 32 pixels. */
function pictureTokens({ width, height }: PictureSize): number {
  return Math.ceil(width / 32) * Math.ceil(height / 32)
}

function usageOf(text_tokens: number, output_tokens: number): JsonObject {
  return {
    input_tokens: text_tokens,
    input_tokens_details: { text_tokens, image_tokens: 0 },
    output_tokens,
    output_tokens_details: { text_tokens: 0, image_tokens: output_tokens },
    total_tokens: text_tokens + output_tokens,
  }
}
