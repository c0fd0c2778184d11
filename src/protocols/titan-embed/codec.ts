// Amazon's Titan embeddings at Bedrock: one text a call.
import { type EmbeddingResponse, vectorIn } from "../../canonical/embedding.ts"
import type { JsonObject } from "../../canonical/json.ts"
import { reportExtra, textsOf } from "../embedded-text.ts"
import type { EmbeddingUpstream } from "../embedding-codec.ts"
import { NO_HEADERS } from "../extension.ts"
import { invokedInput } from "../invoked-input.ts"
import { decodeError } from "../openai-error.ts"
import { count } from "../token-count.ts"

export const upstream: EmbeddingUpstream = {
  fates: {
    dimensions: { fate: "mapped", note: "`dimensions`" },
    task: { fate: "dropped", note: "there is no such member" },
    title: { fate: "dropped", note: "there is no such member" },
    endUser: { fate: "dropped", note: "there is no such member" },
  },
  errand: (model) => ({
    operation: "invoke",
    path: `/model/${encodeURIComponent(model)}/invoke`,
    headers: NO_HEADERS,
  }),
  encodeRequest(batch, { losses }) {
    const { dimensions } = batch.settings
    reportExtra(batch, { losses, to: "Titan" })
    const [inputText = ""] = textsOf(batch, losses)
    return { inputText, ...(dimensions !== undefined && { dimensions }) }
  },
  decodeResponse(body: JsonObject): EmbeddingResponse | undefined {
    const vector = vectorIn(body.embedding)
    const input = count(body, "inputTextTokenCount") ?? invokedInput(body)
    if (vector === undefined) return undefined
    return { vectors: [vector], ...(input !== undefined && { usage: { input } }) }
  },
  decodeError,
}
