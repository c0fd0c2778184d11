// Every kind of embedding host, scripted on one real socket: each accepts only its own protocol, rejects too large
// batches, and answers with a vector derived from the text.
import type { ReceivedRequest, UpstreamReply } from "../stage/upstream.ts"

type EmbeddingHostBody = Record<string, unknown>

export interface EmbeddedText {
  readonly text: string
  readonly dimensions: number
}

/** One call as the host understood it. */
export interface ReceivedEmbeddingCall {
  readonly host: HostName
  readonly inputs: readonly EmbeddedText[]
  /** In the wire's own word, where it has one. */
  readonly task?: string | undefined
  readonly body: EmbeddingHostBody
}

export const USUAL_DIMENSIONS = 8

/** The same for every host, in numbers that 32 bits hold. */
export function vectorFor(text: string, dimensions = USUAL_DIMENSIONS): number[] {
  let state = dimensions
  for (const letter of text) state = (state * 31 + (letter.codePointAt(0) ?? 0)) >>> 0
  return Array.from({ length: dimensions }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.fround(state / 2 ** 31 - 1)
  })
}

/** The host's token count. */
export function tokensFor(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.split(" ").length, 0)
}

interface EmbeddingHost {
  /** The most inputs in a call. */
  readonly most: number
  /** Throws where the wire does not allow it. */
  readCall(body: EmbeddingHostBody, path: string): Omit<ReceivedEmbeddingCall, "host" | "body">
  answer(inputs: readonly EmbeddedText[], body: EmbeddingHostBody): EmbeddingHostBody
  readonly headers?: (inputs: readonly EmbeddedText[]) => Record<string, string>
}

function only(body: EmbeddingHostBody, names: readonly string[]): void {
  for (const name of Object.keys(body)) if (!names.includes(name)) throw new Error(`extra_forbidden: ${name}`)
}

function texts(value: unknown, dimensions: unknown): EmbeddedText[] {
  const several = typeof value === "string" ? [value] : value
  if (!Array.isArray(several)) throw new Error("no list of texts")
  return several.map((text) => {
    if (typeof text !== "string") throw new Error("not a text")
    return { text, dimensions: typeof dimensions === "number" ? dimensions : USUAL_DIMENSIONS }
  })
}

/** Numbers of tokens are as good as words. */
function textsOrTokens(value: unknown, dimensions: unknown): EmbeddedText[] {
  const isTokens = (each: unknown) => Array.isArray(each) && each.every((token) => typeof token === "number")
  const several = isTokens(value) || typeof value === "string" ? [value] : (value as unknown[])
  return texts(
    several.map((each) => (isTokens(each) ? (each as number[]).join(" ") : each)),
    dimensions,
  )
}

function packed(vector: readonly number[]): string {
  return Buffer.from(Float32Array.from(vector).buffer).toString("base64")
}

const vectors = (inputs: readonly EmbeddedText[]) => inputs.map(({ text, dimensions }) => vectorFor(text, dimensions))
const count = (inputs: readonly EmbeddedText[]) => tokensFor(inputs.map(({ text }) => text))

/** Embeddings in OpenAI's form. */
function listed(
  inputs: readonly EmbeddedText[],
  { packs, usage }: { packs: boolean; usage: EmbeddingHostBody },
): EmbeddingHostBody {
  const data = vectors(inputs).map((vector, index) => {
    return { object: "embedding", index, embedding: packs ? packed(vector) : vector }
  })
  return { object: "list", data, model: "upstream-model", usage }
}

/** A host may return them in another order, with their index. */
function reversed({ data, ...rest }: EmbeddingHostBody): EmbeddingHostBody {
  return { ...rest, data: (data as unknown[]).toReversed() }
}

function google(request: EmbeddingHostBody): EmbeddedText & { task: string | undefined } {
  only(request, ["model", "content", "taskType", "title", "outputDimensionality", "autoTruncate"])
  const { parts } = request.content as { parts: { text: string }[] }
  const [part] = texts(
    parts.map(({ text }) => text),
    request.outputDimensionality,
  )
  if (!part || parts.length > 1) throw new Error("one part")
  return { ...part, task: request.taskType as string | undefined }
}

export const HOSTS = {
  openai: {
    most: 2048,
    readCall(body) {
      only(body, ["model", "input", "dimensions", "encoding_format", "user"])
      return { inputs: textsOrTokens(body.input, body.dimensions) }
    },
    answer: (inputs, { encoding_format }) =>
      listed(inputs, {
        packs: encoding_format === "base64",
        usage: { prompt_tokens: count(inputs), total_tokens: count(inputs) },
      }),
  },
  ollama: {
    most: 2048,
    readCall: (body) => ({ inputs: texts(body.input, body.dimensions) }),
    // It knows nothing of base64.
    answer: (inputs) =>
      listed(inputs, { packs: false, usage: { prompt_tokens: count(inputs), total_tokens: count(inputs) } }),
  },
  alibaba: {
    most: 10,
    readCall(body) {
      only(body, ["model", "input", "dimensions"])
      return { inputs: texts(body.input, body.dimensions) }
    },
    answer: (inputs) =>
      listed(inputs, { packs: false, usage: { prompt_tokens: count(inputs), total_tokens: count(inputs) } }),
  },
  mistral: {
    most: 512,
    readCall(body) {
      only(body, ["model", "input", "output_dimension", "output_dtype", "encoding_format"])
      return { inputs: texts(body.input, body.output_dimension) }
    },
    answer: (inputs, { encoding_format }) =>
      reversed(
        listed(inputs, {
          packs: encoding_format === "base64",
          usage: { prompt_tokens: count(inputs), total_tokens: count(inputs), completion_tokens: 0 },
        }),
      ),
  },
  voyage: {
    most: 1000,
    readCall(body) {
      only(body, ["model", "input", "input_type", "truncation", "output_dimension", "output_dtype", "encoding_format"])
      if (body.encoding_format === "float") throw new Error("encoding_format must be base64 or null")
      return { inputs: texts(body.input, body.output_dimension), task: body.input_type as string | undefined }
    },
    answer: (inputs, { encoding_format }) =>
      reversed(listed(inputs, { packs: encoding_format === "base64", usage: { total_tokens: count(inputs) } })),
  },
  jina: {
    most: 2048,
    readCall(body) {
      only(body, ["model", "input", "task", "dimensions", "embedding_type", "late_chunking"])
      return { inputs: texts(body.input, body.dimensions), task: body.task as string | undefined }
    },
    answer: (inputs, { embedding_type }) =>
      reversed(
        listed(inputs, {
          packs: embedding_type === "base64",
          usage: { prompt_tokens: count(inputs), total_tokens: count(inputs) },
        }),
      ),
  },
  cohere: {
    most: 96,
    readCall(body, path) {
      if (!path.endsWith("/v2/embed")) throw new Error(`nothing is at ${path}`)
      only(body, ["model", "input_type", "texts", "embedding_types", "output_dimension"])
      return { inputs: texts(body.texts, body.output_dimension), task: body.input_type as string }
    },
    answer: (inputs) => ({
      id: "5807ee2e",
      embeddings: { float: vectors(inputs) },
      texts: inputs.map(({ text }) => text),
      meta: { api_version: { version: "2" }, billed_units: { input_tokens: count(inputs) } },
    }),
  },
  google: {
    most: 100,
    readCall(body, path) {
      if (path.endsWith("/v1beta/models/upstream-model:embedContent")) {
        const alone = google(body)
        return { inputs: [alone], task: alone.task }
      }
      if (!path.endsWith("/v1beta/models/upstream-model:batchEmbedContents")) throw new Error(`nothing is at ${path}`)
      const requests = body.requests as EmbeddingHostBody[]
      const received = requests.map(google)
      if (requests.some(({ model }) => model !== "models/upstream-model")) throw new Error("another model")
      return { inputs: received, task: received[0]?.task }
    },
    answer(inputs, { requests }) {
      const embeddings = vectors(inputs).map((values) => ({ values }))
      const usageMetadata = { promptTokenCount: count(inputs) }
      return requests ? { embeddings, usageMetadata } : { embedding: embeddings[0], usageMetadata }
    },
  },
  vertex: {
    most: 1,
    readCall(body, path) {
      if (!/\/v1beta1\/projects\/.*\/models\/gemini-embedding-2:embedContent$/.test(path)) {
        throw new Error(`nothing is at ${path}`)
      }
      const received = google(body)
      return { inputs: [received], task: received.task }
    },
    answer: (inputs) => ({
      embedding: { values: vectors(inputs)[0] },
      usageMetadata: { promptTokenCount: count(inputs), totalTokenCount: count(inputs) },
    }),
  },
  "vertex-predict": {
    most: 1,
    readCall(body, path) {
      if (!/\/v1\/projects\/.*\/models\/text-upstream-model:predict$/.test(path))
        throw new Error(`nothing is at ${path}`)
      const { instances, parameters } = body as { instances: EmbeddingHostBody[]; parameters?: EmbeddingHostBody }
      const inputs = texts(
        instances.map(({ content }) => content),
        parameters?.outputDimensionality,
      )
      return { inputs, task: instances[0]?.task_type as string | undefined }
    },
    answer: (inputs) => ({
      predictions: inputs.map(({ text, dimensions }) => {
        const statistics = { truncated: false, token_count: tokensFor([text]) }
        return { embeddings: { values: vectorFor(text, dimensions), statistics } }
      }),
    }),
  },
  titan: {
    most: 1,
    readCall(body, path) {
      if (!path.endsWith("/model/amazon.titan-embed-text-v2%3A0/invoke")) throw new Error(`nothing is at ${path}`)
      only(body, ["inputText", "dimensions", "normalize"])
      return { inputs: texts(body.inputText, body.dimensions) }
    },
    answer: (inputs) => ({ embedding: vectors(inputs)[0], inputTextTokenCount: count(inputs) }),
  },
  nova: {
    most: 1,
    readCall(body, path) {
      if (!path.endsWith("/model/amazon.nova-2-multimodal-embeddings-v1%3A0/invoke"))
        throw new Error(`nothing at ${path}`)
      const params = body.singleEmbeddingParams as {
        embeddingPurpose: string
        text: EmbeddingHostBody
        embeddingDimension?: number
      }
      return { inputs: texts(params.text.value, params.embeddingDimension), task: params.embeddingPurpose }
    },
    answer: (inputs) => ({ embeddings: [{ embeddingType: "TEXT", embedding: vectors(inputs)[0] }] }),
    headers: (inputs) => ({ "x-amzn-bedrock-input-token-count": String(count(inputs)) }),
  },
  "bedrock-cohere": {
    most: 96,
    readCall(body, path) {
      if (!path.endsWith("/model/cohere.embed-english-v3/invoke")) throw new Error(`nothing is at ${path}`)
      only(body, ["input_type", "texts", "embedding_types", "output_dimension"])
      return { inputs: texts(body.texts, body.output_dimension), task: body.input_type as string }
    },
    answer: (inputs) => ({ embeddings: vectors(inputs), id: "7160", response_type: "embeddings_floats" }),
    headers: (inputs) => ({ "x-amzn-bedrock-input-token-count": String(count(inputs)) }),
  },
} as const satisfies Record<string, EmbeddingHost>

export type HostName = keyof typeof HOSTS
export const HOST_NAMES = Object.keys(HOSTS) as HostName[]

/** Answers as the host whose name the path begins with; what it does not take is its error. */
export function answerAs(request: ReceivedRequest, reply: UpstreamReply): ReceivedEmbeddingCall | undefined {
  const name = request.path.split("/")[1] as HostName
  const host: EmbeddingHost = HOSTS[name]
  const body = JSON.parse(request.body.toString()) as EmbeddingHostBody
  try {
    const received = host.readCall(body, request.path)
    if (received.inputs.length > host.most) throw new Error(`at most ${host.most} inputs`)
    reply.json(host.answer(received.inputs, body), 200, host.headers?.(received.inputs))
    return { host: name, ...received, body }
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : "?"
    reply.json({ error: { message, type: "invalid_request_error", code: 400 }, message }, 400)
    return undefined
  }
}

/** The configuration that reaches them all, a model for each: `test/openai`. */
export function hostsConfig(origin: string, credentialsFile: string): string {
  const model = (name: string, upstream = "upstream-model", provider = name) =>
    `  - { id: test/${name}, kind: embedding, context_window: 100000, pricing: { input: "1" },
      targets: [{ provider: ${provider}, model: "${upstream}" }] }`
  const vertex = (name: string) =>
    `  ${name}: { type: vertex, project: p, location: global, credentials_file: "${credentialsFile}", base_url: "${origin}/${name}" }`
  const bedrock = (name: string) =>
    `  ${name}: { type: bedrock, region: us-east-1, api_key: k, base_url: "${origin}/${name}" }`
  return `
providers:
  openai: { api_key: k, base_url: "${origin}/openai/v1" }
  ollama: { base_url: "${origin}/ollama/v1", discover: false }
  alibaba: { api_key: k, base_url: "${origin}/alibaba/v1" }
  mistral: { api_key: k, base_url: "${origin}/mistral/v1" }
  voyage: { api_key: k, base_url: "${origin}/voyage/v1" }
  jina: { api_key: k, base_url: "${origin}/jina/v1" }
  cohere: { api_key: k, base_url: "${origin}/cohere" }
  google: { api_key: k, base_url: "${origin}/google" }
${vertex("vertex")}
${vertex("vertex-predict")}
${bedrock("titan")}
${bedrock("nova")}
${bedrock("bedrock-cohere")}
models:
${["openai", "ollama", "alibaba", "mistral", "voyage", "jina", "cohere", "google"].map((name) => model(name)).join("\n")}
${model("vertex", "gemini-embedding-2")}
${model("vertex-predict", "text-upstream-model")}
${model("titan", "amazon.titan-embed-text-v2:0")}
${model("nova", "amazon.nova-2-multimodal-embeddings-v1:0")}
${model("bedrock-cohere", "cohere.embed-english-v3")}
  - { id: test/several, kind: embedding, context_window: 100000, pricing: { input: "1" },
      targets: [{ provider: google, model: upstream-model, priority: 1 }, { provider: openai, model: upstream-model, priority: 2 }] }
`
}
