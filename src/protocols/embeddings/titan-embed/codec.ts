// Amazon's Titan embeddings at Bedrock: one text a call.
import { type EmbeddingResponse, vectorIn } from "../../../canonical/embedding.ts"
import type { JsonObject } from "../../../canonical/json.ts"
import type { EmbeddingUpstream } from "../../embedding-codec.ts"
import { NO_HEADERS } from "../../gateway-extension.ts"
import { decodeError } from "../../openai/openai-errors.ts"
import { bedrockInputTokens } from "../../usage/bedrock-input-tokens.ts"
import { readTokenCount } from "../../usage/token-counts.ts"
import { reportEmbeddingExtra, textsOf } from "../embedded-text.ts"

export const titanEmbedUpstream: EmbeddingUpstream = {
  fates: {
    dimensions: { fate: "mapped", note: "`dimensions`" },
    task: { fate: "dropped", note: "there is no such member" },
    title: { fate: "dropped", note: "there is no such member" },
    endUser: { fate: "dropped", note: "there is no such member" },
  },
  operationFor: (model) => ({
    operation: "invoke",
    path: `/model/${encodeURIComponent(model)}/invoke`,
    headers: NO_HEADERS,
  }),
  encodeRequest(batch, { losses }) {
    const { dimensions } = batch.settings
    reportEmbeddingExtra(batch, { losses, to: "Titan" })
    const [inputText = ""] = textsOf(batch, losses)
    return { inputText, ...(dimensions !== undefined && { dimensions }) }
  },
  decodeResponse(body: JsonObject): EmbeddingResponse | undefined {
    const vector = vectorIn(body.embedding)
    const input = readTokenCount(body, "inputTextTokenCount") ?? bedrockInputTokens(body)
    if (vector === undefined) return undefined
    return { vectors: [vector], ...(input !== undefined && { usage: { input } }) }
  },
  decodeError,
}
