// Relays Google's vectors and reads their usage.
import { type EmbeddingResponse, vectorsIn } from "../../../../canonical/embedding.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { Usage } from "../../../../canonical/usage.ts"
import { findMember, type JsonOutline } from "../../../../transport/json/json-scan.ts"
import type { RelayContext } from "../../../contract.ts"
import { memberValue } from "../../../response-member.ts"
import { decodeUsage } from "../usage.ts"

export function relayAnswer(
  text: string,
  outlined: JsonOutline,
  _context: RelayContext,
): { text: string; usage?: Usage } | undefined {
  if (!findMember(outlined, "embedding")) return undefined
  const usage = usageIn(memberValue(text, outlined, "usageMetadata"))
  return { text, ...(usage && { usage }) }
}

/** Decodes the response for one content or for several. */
export function decodeEmbeddings(body: JsonObject): EmbeddingResponse | undefined {
  const embeddings = Array.isArray(body.embeddings) ? body.embeddings : [body.embedding ?? null]
  const vectors = vectorsIn(embeddings.map((each: Json) => (isObject(each) ? each.values : undefined)))
  const usage = usageIn(body.usageMetadata)
  return vectors && { vectors, ...(usage && { usage }) }
}

/** Shares by modality have a different name here. There is no output, so none is reported. */
function usageIn(wire: Json | undefined): Usage | undefined {
  if (!isObject(wire)) return undefined
  const { promptTokensDetails = wire.promptTokenDetails ?? null } = wire
  const { output: _, ...usage } = decodeUsage({ ...wire, promptTokensDetails }) ?? {}
  return Object.keys(usage).length > 0 ? usage : undefined
}
