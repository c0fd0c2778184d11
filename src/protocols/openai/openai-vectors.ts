// OpenAI's vectors, and the wires that differ in a few member names.
import {
  type EmbeddingBatch,
  type EmbeddingFates,
  type EmbeddingInput,
  type EmbeddingResponse,
  vectorsIn,
} from "../../canonical/embedding.ts"
import { GatewayError } from "../../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { Losses } from "../../canonical/loss.ts"
import type { PassthroughFields } from "../../canonical/passthrough-fields.ts"
import { totalTokens, type Usage } from "../../canonical/usage.ts"
import type { EmbeddingUpstream } from "../embedding-codec.ts"
import { reportEmbeddingExtra, type TaskWords, taskWord, textOf, textsOf } from "../embeddings/embedded-text.ts"
import { NO_HEADERS } from "../gateway-extension.ts"
import { readTokenCount, reportedUsage } from "../usage/token-counts.ts"
import { decodeError } from "./openai-errors.ts"

/** The protocol of clients whose own members such wires understand. */
export const OPENAI_EMBEDDINGS = "openai-embeddings"

/** A wire's names for OpenAI's members. */
export interface VectorWire {
  readonly fates: EmbeddingFates
  /** True if token ids are accepted; otherwise only text is. */
  readonly takesTokens?: boolean
  readonly dimensions: string
  readonly endUser?: string
  /** Requests base64, which takes a third of the bytes. */
  readonly packed: JsonObject
  readonly task?: { readonly member: string; readonly words: TaskWords }
  /** Members that would change the vectors' encoding, with their allowed values. */
  readonly onlyFloats?: Readonly<Record<string, readonly Json[]>>
  /** The further members that it accepts, if it refuses all others; absent if it accepts all. */
  readonly takesMembers?: readonly string[]
}

export function vectorCodec(wire: VectorWire): EmbeddingUpstream {
  return {
    fates: wire.fates,
    operationFor: () => ({ operation: "embeddings", path: "/embeddings", headers: NO_HEADERS }),
    encodeRequest(batch, { model, losses }) {
      const { dimensions, task, endUser } = batch.settings
      const { own, ...foreign } = splitPassthrough(batch, wire)
      reportEmbeddingExtra({ ...batch, ...foreign }, { losses, to: "this host" })
      const word = wire.task && taskWord(wire.task.words, { task, losses })
      return {
        ...own,
        model,
        input: wire.takesTokens
          ? batch.inputs.map((input) => encodeEmbeddingInput(input, losses))
          : textsOf(batch, losses),
        ...(dimensions !== undefined && { [wire.dimensions]: dimensions }),
        ...(wire.task && word !== undefined && { [wire.task.member]: word }),
        ...(wire.endUser !== undefined && endUser !== undefined && { [wire.endUser]: endUser }),
        ...wire.packed,
      }
    },
    decodeResponse: decodeVectors,
    decodeError,
  }
}

function encodeEmbeddingInput({ content }: EmbeddingInput, losses: Losses): Json {
  return content.kind === "tokens" ? content.tokens : textOf(content, losses)
}

interface SplitPassthrough {
  readonly own: JsonObject
  readonly extra: PassthroughFields | undefined
}

/** Further members from OpenAI's clients are meant for these hosts. */
function splitPassthrough({ extra }: EmbeddingBatch, { onlyFloats = {}, takesMembers }: VectorWire): SplitPassthrough {
  if (extra?.protocol !== OPENAI_EMBEDDINGS) return { own: {}, extra }
  for (const [name, values] of Object.entries(onlyFloats)) {
    const value = extra.members[name]
    if (value === undefined || value === null || values.includes(value)) continue
    const message = `\`${name}\` must be ${values.join(" or ")}, or left out: embeddings are floats.`
    throw new GatewayError("unsupported_parameter", message, { param: name })
  }
  if (!takesMembers) return { own: extra.members, extra: undefined }
  const isTaken = ([name]: [string, Json]) => takesMembers.includes(name)
  const all = Object.entries(extra.members)
  const others = Object.fromEntries(all.filter((member) => !isTaken(member)))
  return { own: Object.fromEntries(all.filter(isTaken)), extra: { ...extra, members: others } }
}

function decodeVectors({ data, usage }: JsonObject): EmbeddingResponse | undefined {
  if (!Array.isArray(data)) return undefined
  const ordered: (Json | undefined)[] = Array.from(data, () => undefined)
  for (const [place, item] of data.entries()) {
    if (!isObject(item)) return undefined
    ordered[typeof item.index === "number" ? item.index : place] = item.embedding
  }
  const vectors = ordered.length === data.length ? vectorsIn(ordered) : undefined
  if (!vectors) return undefined
  const used = isObject(usage) ? decodeVectorUsage(usage) : undefined
  return { vectors, ...(used && { usage: used }) }
}

export function decodeVectorUsage(wire: JsonObject): Usage | undefined {
  const input = readTokenCount(wire, "prompt_tokens") ?? readTokenCount(wire, "total_tokens")
  return reportedUsage(wire, input === undefined ? {} : { input })
}

export function encodeUsage(usage: Usage): JsonObject {
  const tokens = totalTokens(usage)
  return { prompt_tokens: tokens, total_tokens: tokens }
}
