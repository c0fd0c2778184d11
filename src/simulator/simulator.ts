// A provider without a network: takes what an upstream would be sent, answers as that vendor would.
import { isObject, type JsonObject } from "../canonical/json.ts"
import type { Send } from "../transport/http-client.ts"
import { anthropicCountTokens, anthropicMessages } from "./anthropic-messages.ts"
import { Refusal, type SimulatedEndpoint } from "./call.ts"
import { geminiBatchEmbed, geminiEmbed } from "./gemini-embed.ts"
import { geminiCountTokens, geminiGenerate, geminiStreamGenerate } from "./gemini-generate.ts"
import { openaiChat } from "./openai-chat.ts"
import { openaiEmbeddings } from "./openai-embeddings.ts"
import { refuseOpenai } from "./openai-error.ts"
import { openaiImages } from "./openai-images.ts"
import { openaiResponses } from "./openai-responses.ts"
import { PromptCache } from "./prompt-cache.ts"

/** By how the path ends. */
const ENDPOINTS: readonly (readonly [ending: string, endpoint: SimulatedEndpoint])[] = [
  ["/chat/completions", openaiChat],
  ["/responses", openaiResponses],
  ["/embeddings", openaiEmbeddings],
  ["/images/generations", openaiImages],
  ["/messages", anthropicMessages],
  ["/messages/count_tokens", anthropicCountTokens],
  [":generateContent", geminiGenerate],
  [":streamGenerateContent", geminiStreamGenerate],
  [":countTokens", geminiCountTokens],
  [":embedContent", geminiEmbed],
  [":batchEmbedContents", geminiBatchEmbed],
]

export const simulator: Send = createSimulator()

/** Each remembers the prompts it was sent, as a provider's prompt cache would. */
export function createSimulator(): Send {
  const cache = new PromptCache()
  return async ({ url, body, abort: { signal } }) => {
    signal.throwIfAborted()
    const [address = "", query = ""] = url.replace(/#.*$/, "").split("?", 2)
    const path = address.replace(/^[\w+.-]+:(?:\/\/[^/]*)?/, "")
    const endpoint = ENDPOINTS.find(([ending]) => path.endsWith(ending))?.[1]
    if (!endpoint) return refuseOpenai(new Refusal(`Invalid URL (POST ${path})`), 404)
    try {
      return endpoint.answer({ path, query: new URLSearchParams(query), body: parse(body), cache, signal })
    } catch (thrown) {
      if (thrown instanceof Refusal) return endpoint.refuse(thrown)
      throw thrown
    }
  }
}

function parse(body: string | Uint8Array): JsonObject {
  try {
    const parsed: unknown = JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body))
    if (isObject(parsed)) return parsed
  } catch {
    // Told below, like a body that is JSON but no object.
  }
  throw new Refusal("The body of the request is not a JSON object.")
}
