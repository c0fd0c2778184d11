// Suggests the right route for an unknown path: paths of other products by a table, typos and wrong base URLs by
// comparison with the routes.
import { nearestName } from "../canonical/nearest-name.ts"

/** Paths of another product, or of a vendor's interface that the gateway does not have, and what to do instead. */
interface ForeignPath {
  readonly like: RegExp
  readonly advice: string
}

const CHAT = "POST /v1/chat/completions"
const NOT_SERVED = "The gateway does not serve this interface"
/** Google's collections, at every place where its clients look for them. */
const GOOGLE = "^(?:/(?:gemini|genapi)(?:/upload)?/v1\\w*|(?:/upload)?/v1(?:beta1?|alpha))(?:/v1beta)?"

const FOREIGN: readonly ForeignPath[] = [
  // Ollama
  { like: /^\/api\/(chat|generate)$/, advice: `This is Ollama's path. Use ${CHAT}.` },
  { like: /^\/api\/(tags|ps|show)$/, advice: "This is Ollama's path. Use GET /v1/models." },
  { like: /^\/api\/(embed|embeddings)$/, advice: "This is Ollama's path. Use POST /v1/embeddings." },
  {
    like: /^\/api\/(version|pull|push|create|copy|delete)$/,
    advice: "This is Ollama's path. GET /docs lists this gateway's routes.",
  },
  // Hosts with protocols of their own
  { like: /^\/v[12]\/chat$/, advice: `This is Cohere's path. Use ${CHAT}.` },
  { like: /^\/v[12]\/embed$/, advice: "This is Cohere's path. Use POST /v1/embeddings." },
  {
    like: /^\/model\/[^/]+\/(converse|invoke)/,
    advice: `This is Amazon Bedrock's path. Use ${CHAT} or POST /v1/messages.`,
  },
  { like: /^\/generate(_stream)?$/, advice: `This is Text Generation Inference's path. Use ${CHAT}.` },
  { like: /^\/v1\/projects\/.+\/models\//, advice: "This is Vertex AI's path. Put /gemini in front of it." },
  { like: /^\/v1\/complete$/, advice: "This is Anthropic's legacy path. Use POST /v1/messages." },
  // Other gateways
  { like: /^(\/api)?\/v1\/(credits|auth\/key)$/, advice: "Use GET /v1/key." },
  { like: /^(\/api)?\/v1\/generation$/, advice: "Use GET /v1/receipts/{id} with the request's `x-request-id`." },
  { like: /^\/api\/v1\/(key|receipts\/.+)$/, advice: "Use GET /v1/key or GET /v1/receipts/{id}." },
  { like: /^(\/v1)?\/models?\/info$/, advice: "Use GET /v1/models." },
  { like: /^\/health\/(liveliness|liveness|services)$/, advice: "Use GET /healthz." },
  { like: /^\/(health\/readiness|ready|readiness)$/, advice: "Use GET /readyz." },
  { like: /^\/(live|liveness|ping|status|up)$/, advice: "Use GET /healthz." },
  {
    like: /^\/(admin(\/|$)|metrics$|ui(\/|$)|(key|user|team|customer|organization|spend|budget|config)\/)/,
    advice:
      "The administration has its own port (8081 by default): the gateway prints `administration on …` when it starts.",
  },
  { like: /^\/(swagger|redoc|api-docs|openapi\.ya?ml|swagger\.json)/, advice: "Use GET /docs or GET /openapi.json." },
  // What the vendors have and the gateway does not
  { like: /^(\/v1)?\/audio\//, advice: `${NOT_SERVED}: no speech. Models with audio input accept audio in ${CHAT}.` },
  {
    like: /^(\/v1)?\/images\/(edits|variations)$/,
    advice: `${NOT_SERVED}: generate images with POST /v1/images/generations.`,
  },
  {
    like: /^(\/v1)?\/(files|uploads)(\/|$)/,
    advice: `${NOT_SERVED}: send files inside the request, as base64 or by URL.`,
  },
  { like: /^(\/v1)?\/(batches|messages\/batches)(\/|$)/, advice: `${NOT_SERVED}: send the requests one by one.` },
  { like: /^(\/v[12])?\/rerank$/, advice: `${NOT_SERVED}: no reranking.` },
  {
    like: /^\/v1\/(assistants|threads|conversations|vector_stores|containers|skills|responses\/compact)(\/|$)/,
    advice: `${NOT_SERVED}: use POST /v1/responses, with \`previous_response_id\` to continue a conversation.`,
  },
  {
    like: /^(\/v1)?\/(realtime|videos|fine_tuning|evals|mcp)(\/|$)/,
    advice: `${NOT_SERVED}. GET /docs lists what it serves.`,
  },
  {
    like: /^\/(anthropic|msgapi)(\/v1)?\/(messages\/batches|files|skills)(\/|$)/,
    advice: `${NOT_SERVED}: send requests one by one, with files inside them.`,
  },
  {
    like: new RegExp(`${GOOGLE}/(files|cachedContents|batches|fileSearchStores|corpora|interactions)([/:]|$)`),
    advice: `${NOT_SERVED}: send all content inside the request, to :generateContent.`,
  },
  {
    like: new RegExp(`${GOOGLE}/(tunedModels|operations|auth_tokens|dynamic)([/:]|$)`),
    advice: `${NOT_SERVED}. GET /gemini/v1beta/models lists the models.`,
  },
]

/** Whether a path belongs to an interface that the gateway does not have, although it fits an open route. */
export function isForeignPath(path: string): boolean {
  return CONTENT_METHOD.test(path) ? OPENAI_MODELS.test(path) : FOREIGN.some(({ like }) => like.test(path))
}

/** A content-generation method, which no other protocol's path ends in. */
const CONTENT_METHOD = /:(generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)$/
/** Where OpenAI's clients ask for one model. */
const OPENAI_MODELS = /^(\/api\/v1|\/v1|\/openai(\/v1)?)?\/models\//

const DOCS = "GET /docs lists all routes."
/** No path of ours is half as long. */
const MAX_COMPARED_LENGTH = 100
/** Anybody can ask for paths that do not exist, so their comparison takes at most a few hundredths of the time. */
const MAX_COMPARISONS_PER_SECOND = 100

export class RouteHelp {
  /** Paths without an open part. */
  private readonly exact: readonly string[]
  private second = 0
  private comparisons = 0

  constructor(
    paths: readonly string[],
    private readonly now: () => number = () => performance.now(),
  ) {
    this.exact = [...new Set(paths)].filter((path) => !path.includes("{"))
  }

  /** What to ask for instead of `path`, as a sentence. */
  advise(path: string): string {
    const foreign = FOREIGN.find(({ like }) => like.test(path))
    if (foreign) return foreign.advice
    const meant = path.length > MAX_COMPARED_LENGTH ? undefined : this.meantPath(path)
    return meant === undefined ? DOCS : `Did you mean ${meant}? ${DOCS}`
  }

  private meantPath(path: string): string | undefined {
    const plain = path.replace(/\/{2,}/g, "/").replace(/(.)\/$/, "$1")
    const lower = plain.toLowerCase()
    const found = this.exact.find((known) => known === lower) ?? contentPath(plain) ?? findByEnding(lower, this.exact)
    return found ?? (this.mayCompare() ? nearestName(lower, this.exact) : undefined)
  }

  private mayCompare(): boolean {
    const second = Math.floor(this.now() / 1000)
    if (second !== this.second) this.comparisons = 0
    this.second = second
    this.comparisons++
    return this.comparisons <= MAX_COMPARISONS_PER_SECOND
  }
}

const CONTENT_BASE = /^\/?(?:genapi|gemini|google)?\/?(?:v\d\w*\/)*(?:models\/)?/

/** A content-generation path whose prefix or version is missing or wrong: its method is unmistakable. */
function contentPath(path: string): string | undefined {
  if (!CONTENT_METHOD.test(path)) return undefined
  const prefix = path.startsWith("/genapi/") ? "/genapi" : "/gemini"
  return `${prefix}/v1beta/models/${path.replace(CONTENT_BASE, "")}`
}

const VERSIONED = /^.*\/v\d\w*(?=\/)/

/** The route that ends in the same operation: only what is in front of it, the base address, is wrong. */
function findByEnding(path: string, paths: readonly string[]): string | undefined {
  let best: string | undefined
  let bestScore = 0
  for (const known of paths) {
    const operation = known.replace(VERSIONED, "")
    if (operation === known || !path.endsWith(operation)) continue
    const isSamePlace = known.split("/")[1] === path.split("/")[1]
    const score = operation.length * 10 + (isSamePlace ? 1 : 0)
    if (score <= bestScore) continue
    best = known
    bestScore = score
  }
  return best
}
