// Splits an embedding request into calls within the host's limits on inputs and tokens; all inputs of one call share
// their settings.
import type {
  EmbeddingBatch,
  EmbeddingContent,
  EmbeddingInput,
  EmbeddingRequest,
  EmbeddingResponse,
  EmbeddingSettings,
} from "../../canonical/embedding.ts"
import { sumUsageOfCalls } from "../../canonical/usage.ts"

export interface BatchLimits {
  readonly inputs: number
  /** In one call, of all inputs together. */
  readonly tokens?: number | undefined
}

/** Hardly any text has more: a call is rather smaller than it may be than refused. */
const BYTES_PER_TOKEN = 3

export function splitIntoBatches({ inputs, endUser, extra }: EmbeddingRequest, limits: BatchLimits): EmbeddingBatch[] {
  return cutInputs(inputs, limits).map((some) => ({
    inputs: some,
    settings: settingsOf(some, endUser),
    ...(extra && { extra }),
  }))
}

function cutInputs(
  inputs: readonly EmbeddingInput[],
  { inputs: most, tokens = Number.POSITIVE_INFINITY }: BatchLimits,
) {
  const batches: EmbeddingInput[][] = []
  let open: EmbeddingInput[] = []
  let size = 0
  for (const input of inputs) {
    const more = likelyTokens(input.content)
    const [first] = open
    const fits = open.length < most && size + more <= tokens
    if (first && !(fits && isAlike(first, input))) {
      batches.push(open)
      open = []
      size = 0
    }
    open.push(input)
    size += more
  }
  return open.length > 0 ? [...batches, open] : batches
}

/** Of a text of this many bytes, or of all texts of a request. */
export function likelyTokensOf(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

function likelyTokens(content: EmbeddingContent): number {
  if (content.kind === "tokens") return content.tokens.length
  return likelyTokensOf(Buffer.byteLength(content.kind === "text" ? content.text : JSON.stringify(content.parts)))
}

function isAlike(one: EmbeddingInput, other: EmbeddingInput): boolean {
  return one.dimensions === other.dimensions && one.task === other.task
}

function settingsOf(inputs: readonly EmbeddingInput[], endUser: string | undefined): EmbeddingSettings {
  const { dimensions, task } = inputs[0] ?? {}
  return {
    ...(dimensions !== undefined && { dimensions }),
    ...(task && { task }),
    ...(inputs.some(({ title }) => title !== undefined) && { title: true }),
    ...(endUser !== undefined && { endUser }),
  }
}

/** Joins the responses of all calls. Usage is known only if every call reports it. */
export function joinEmbeddingResponses(responses: readonly EmbeddingResponse[]): EmbeddingResponse {
  const usage = sumUsageOfCalls(responses)
  return { vectors: responses.flatMap(({ vectors }) => vectors), ...(usage && { usage }) }
}
