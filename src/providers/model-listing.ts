// Reads the model listings of hosts that an operator runs: OpenAI's `/models` with the additions of vLLM and llama.cpp,
// Ollama's and LM Studio's own. Listings are untrusted: entries that do not fit are left out.
import { ParseProblem } from "../config/config-shape.ts"
import { modelAlias } from "../config/parse-values.ts"
import { BoundedJsonError, fetchBoundedJson } from "../transport/bounded-json.ts"
import type { ListedHost, ListHostModels, ModelOffer, OfferedModel } from "./contract.ts"

const MAX_MODELS = 1000
const MAX_LISTING_BYTES = 4 * 1024 * 1024
const MAX_DETAILS_BYTES = 1024 * 1024
/** Time limit of all requests of one listing. */
const LISTING_MS = 10_000
const DETAILS_AT_ONCE = 4
const MAX_NAME_LENGTH = 200
const MAX_CONTEXT_WINDOW = 100_000_000

type ListingMembers = Readonly<Record<string, unknown>>
type ModelAbility = OfferedModel["abilities"][number]

/** OpenAI's listing: vLLM, llama.cpp and most others. */
export const listOpenai: ListHostModels = (host) => openaiOffer(timedHost(host))

/** LM Studio's own listing has kinds and context windows; its OpenAI listing does not. */
export const listLmstudio: ListHostModels = async (host) => {
  const timed = timedHost(host)
  const own = await optional(fetchListing(timed, `${rootOf(host)}/api/v0/models`))
  return own === undefined ? openaiOffer(timed) : offerOf(listIn(own, "data"), openaiModel)
}

/** Ollama's listing has only names, so each model is queried, within the time limit of the listing. */
export const listOllama: ListHostModels = async (host) => {
  const timed = timedHost(host)
  const own = await optional(fetchListing(timed, `${rootOf(host)}/api/tags`))
  if (own === undefined) return openaiOffer(timed)
  const offer = offerOf(listIn(own, "models"), ollamaModel)
  return { ...offer, models: await withDetails(offer.models, timed) }
}

interface TimedHost extends ListedHost {
  readonly signal: AbortSignal
}

function timedHost(host: ListedHost): TimedHost {
  return { ...host, signal: AbortSignal.timeout(LISTING_MS) }
}

/** The address of a host's own interface, outside the OpenAI-compatible one. */
function rootOf({ baseUrl }: ListedHost): string {
  return baseUrl.replace(/\/v1$/, "")
}

function fetchListing({ headers, signal }: TimedHost, url: string): Promise<unknown> {
  return fetchBoundedJson({ url, headers, signal, maxBytes: MAX_LISTING_BYTES })
}

/** Undefined if the host answers 404 or similar. */
async function optional(document: Promise<unknown>): Promise<unknown> {
  try {
    return await document
  } catch (thrown) {
    const status = thrown instanceof BoundedJsonError ? thrown.status : undefined
    if (status === 404 || status === 405) return undefined
    throw thrown
  }
}

async function openaiOffer(host: TimedHost): Promise<ModelOffer> {
  return offerOf(listIn(await fetchListing(host, `${host.baseUrl}/models`), "data"), openaiModel)
}

function listIn(document: unknown, member: string): readonly unknown[] {
  const list = isMembers(document) ? document[member] : undefined
  // Ollama without models sends null instead of a list.
  if (list === null) return []
  if (!Array.isArray(list)) throw new BoundedJsonError("its response is not a list of models")
  return list
}

function offerOf(entries: readonly unknown[], read: (entry: ListingMembers) => OfferedModel | undefined): ModelOffer {
  const models = new Map<string, OfferedModel>()
  const beyond = new Set<string>()
  let unnameable = 0
  for (const entry of entries) {
    const model = isMembers(entry) ? read(entry) : undefined
    if (!model || !isNameable(model.name)) unnameable++
    else if (models.has(model.name)) continue
    else if (models.size < MAX_MODELS) models.set(model.name, model)
    else beyond.add(model.name)
  }
  return { models: [...models.values()], unnameable, excess: beyond.size }
}

function isNameable(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && !(modelAlias(name) instanceof ParseProblem)
}

/** An entry of OpenAI's listing, with the members that vLLM, llama.cpp and LM Studio add. */
function openaiModel(entry: ListingMembers): OfferedModel | undefined {
  const { id, type, meta, capabilities } = entry
  if (typeof id !== "string") return undefined
  const measured = isMembers(meta) ? meta : {}
  const windows = [
    ...[entry.max_model_len, entry.max_context_length, entry.context_length, entry.context_window],
    ...[measured.n_ctx, measured.n_ctx_train],
  ]
  const abilities: ModelAbility[] = []
  if (keepStrings(capabilities).includes("tool_use")) abilities.push("tools")
  if (type === "vlm") abilities.push("vision")
  return { name: id, kind: kindOf(id, type), ...windowOf(windows), abilities }
}

function ollamaModel({ model, name = model }: ListingMembers): OfferedModel | undefined {
  if (typeof name !== "string") return undefined
  return { name, kind: kindOf(name), abilities: [] }
}

/** The kind that the host reports, else one derived from the name. */
function kindOf(name: string, type?: unknown): OfferedModel["kind"] {
  if (typeof type === "string" && /^(llm|vlm|chat)$/.test(type)) return "chat"
  const isEmbedding = typeof type === "string" && /^embeddings?$/.test(type)
  return isEmbedding || EMBEDDING_NAME.test(name) ? "embedding" : "chat"
}

const EMBEDDING_NAME = /embed|(^|[/_-])(bge|gte|e5|minilm)[-_](?!rerank)/i

function windowOf(figures: readonly unknown[]): Pick<OfferedModel, "contextWindow"> {
  const contextWindow = figures.find(isWindow)
  return contextWindow === undefined ? {} : { contextWindow }
}

function isWindow(figure: unknown): figure is number {
  return Number.isSafeInteger(figure) && Number(figure) > 0 && Number(figure) <= MAX_CONTEXT_WINDOW
}

async function withDetails(models: readonly OfferedModel[], host: TimedHost): Promise<OfferedModel[]> {
  const described = [...models]
  let next = 0
  const describe = async () => {
    while (next < models.length && !host.signal.aborted) {
      const at = next++
      const model = models[at]
      if (model) described[at] = await ollamaDetails(model, host)
    }
  }
  await Promise.all(Array.from({ length: DETAILS_AT_ONCE }, describe))
  return described
}

/** A model whose details are not available; it can be called nevertheless. */
async function ollamaDetails(model: OfferedModel, host: TimedHost): Promise<OfferedModel> {
  const { headers, signal } = host
  const request = { url: `${rootOf(host)}/api/show`, headers, signal, maxBytes: MAX_DETAILS_BYTES }
  const shown = await fetchBoundedJson({ ...request, body: { model: model.name } }).catch(() => undefined)
  if (!isMembers(shown)) return model
  const { capabilities, model_info: info } = shown
  const known = keepStrings(capabilities)
  const windows = isMembers(info) ? Object.keys(info).filter((name) => name.endsWith(".context_length")) : []
  const isEmbedding = known.includes("embedding") && !known.includes("completion")
  return {
    name: model.name,
    kind: isEmbedding ? "embedding" : known.includes("completion") ? "chat" : model.kind,
    ...windowOf(windows.map((name) => (info as ListingMembers)[name])),
    abilities: OLLAMA_ABILITIES.flatMap(([word, ability]) => (known.includes(word) ? [ability] : [])),
  }
}

const OLLAMA_ABILITIES: readonly (readonly [string, ModelAbility])[] = [
  ["tools", "tools"],
  ["vision", "vision"],
  ["thinking", "reasoning"],
]

function keepStrings(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((each) => typeof each === "string") : []
}

function isMembers(value: unknown): value is ListingMembers {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
