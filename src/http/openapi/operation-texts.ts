// Summaries and parameters of each route for the OpenAPI description. A test fails for a route without an entry.
import type { JsonObject } from "../../canonical/json.ts"
import type { ProtocolId, RequestEnvelope } from "../../protocols/contract.ts"
import { anyObject, integerFrom, listOf, objectOf, text } from "./schema-builders.ts"

type RouteOperation = RequestEnvelope["does"]

/** One operation of a route; a route with an open end may have several. */
export interface OperationText {
  readonly tag: string
  readonly summary: string
  /** The spelling of its path that is listed first; by default the first. */
  readonly at?: string
  /** The suffix at the path's open end, after the name. */
  readonly end?: string
  /** True if every request is rejected. */
  readonly isRefused?: true
  /** Parameters behind the `?`, by name. */
  readonly query?: Readonly<Record<string, string>>
  /** What it answers; left out, an object of the vendor's. */
  readonly gives?: JsonObject
  /** Response media types other than JSON. */
  readonly streams?: true
  /** Whose body it takes, where that is not the route's protocol. */
  readonly speaks?: ProtocolId
  /** Of another media type than JSON. */
  readonly media?: string
}

type OperationTexts = Readonly<Partial<Record<RouteOperation, readonly OperationText[]>>>

const MODELS = "Models"
const COUNT = objectOf({ required: { count: integerFrom(0) } })

function listingTexts({ query, at }: Pick<OperationText, "query" | "at"> = {}): OperationTexts {
  return {
    "list-models": [{ tag: MODELS, summary: "List the models this key can call now.", ...(query && { query }) }],
    "count-models": [{ tag: MODELS, summary: "Count the models this key can call now.", gives: COUNT }],
    "get-model": [{ tag: MODELS, summary: "Show one model.", ...(at && { at }) }],
  }
}

const MESSAGE_PAGES = {
  limit: "Number of models, from 1 to 1000; all of them without a paging parameter.",
  after_id: "The id of a model; the page begins after it.",
  before_id: "The id of a model; the page ends before it.",
}
const CONTENT_PAGES = {
  pageSize: "Number of models, from 1 to 1000 (default: all). Also `page_size`.",
  pageToken: "`nextPageToken` of the previous page. Also `page_token`.",
}

const GENERATION = "Content generation"
const AT = "/genapi/v1beta/models/{model}"

export const PROTOCOL_TEXTS: Readonly<Record<ProtocolId, OperationTexts>> = {
  "openai-chat": {
    generate: [{ tag: "Chat completions", summary: "Generate a response to a conversation.", streams: true }],
    ...listingTexts(),
  },
  "openai-responses": {
    generate: [
      { tag: "Responses", summary: "Generate a response, and store it unless `store` is false.", streams: true },
    ],
    "count-tokens": [{ tag: "Responses", summary: "Count the tokens of a request's input." }],
  },
  "openai-completions": {
    generate: [
      {
        tag: "Completions",
        summary: "Complete a text. Legacy: only for models whose provider supports it.",
        streams: true,
      },
    ],
  },
  "openai-embeddings": { generate: [{ tag: "Embeddings", summary: "Create embeddings for texts." }] },
  "openai-images": { generate: [{ tag: "Images", summary: "Draw images." }] },
  "openai-moderations": {
    generate: [{ tag: "Moderations", summary: "Classify whether texts and images are harmful." }],
  },
  "anthropic-messages": {
    generate: [{ tag: "Messages", summary: "Generate a response to a conversation.", streams: true }],
    "count-tokens": [{ tag: "Messages", summary: "Count the tokens of a request's input." }],
    ...listingTexts({ query: MESSAGE_PAGES }),
  },
  "gemini-generate": {
    generate: [
      { tag: GENERATION, at: AT, end: ":generateContent", summary: "Generate a response to a conversation." },
      {
        tag: GENERATION,
        at: AT,
        end: ":streamGenerateContent",
        summary: "Generate a response to a conversation as a stream.",
        query: { alt: "`sse` for server-sent events (default: one JSON array, element by element)." },
        streams: true,
      },
      { tag: GENERATION, at: AT, end: ":countTokens", summary: "Count the tokens of a request." },
      {
        tag: GENERATION,
        at: AT,
        end: ":embedContent",
        summary: "Create an embedding for one text.",
        speaks: "gemini-embed",
      },
      {
        tag: GENERATION,
        at: AT,
        end: ":batchEmbedContents",
        summary: "Create embeddings for texts.",
        speaks: "gemini-embed",
      },
    ],
    ...listingTexts({ query: CONTENT_PAGES, at: AT }),
  },
  "gemini-embed": {},
}

const KEPT = "/v1/responses/{id}"
const OWN = "Key and receipts"
const GATEWAY = "The gateway"
const STATUS = objectOf({ required: { status: text } })

export const GREETING = "/api/hello"

/** Routes of the gateway's own, by method and path. */
export const GATEWAY_TEXTS: Readonly<Record<string, readonly OperationText[]>> = {
  "GET /v1/key": [
    { tag: OWN, summary: "Show the API key: its scope, limits, budgets, balance and debt, and what is left of each." },
  ],
  "GET /v1/receipts/{id}": [
    {
      tag: OWN,
      summary:
        "Show what a request cost, how the cost was calculated and where the request was routed, by its `x-request-id`.",
    },
  ],
  [`GET ${KEPT}`]: [
    { tag: "Responses", summary: "Show a stored response." },
    {
      tag: "Responses",
      end: "/input_items",
      summary: "List the input items of a stored response.",
      query: { limit: "From 1 to 100 (default: 20).", order: "`desc`, or `asc`.", after: "An item's id." },
      gives: objectOf({ required: { object: text, data: listOf(anyObject) } }),
    },
  ],
  [`DELETE ${KEPT}`]: [{ tag: "Responses", summary: "Delete a stored response." }],
  [`POST ${KEPT}`]: [
    {
      tag: "Responses",
      end: "/cancel",
      summary: "Always rejected: background responses are not supported.",
      isRefused: true,
    },
  ],
  [`HEAD ${GREETING}`]: [{ tag: GATEWAY, summary: "Confirm that the gateway is reachable." }],
  "GET /": [{ tag: GATEWAY, summary: "List the entry points; a browser is redirected to `/docs`." }],
  "GET /health": [{ tag: GATEWAY, summary: "Redirect to `/healthz`.", gives: STATUS }],
  "GET /healthz": [{ tag: GATEWAY, summary: "Report that the process is alive.", gives: STATUS }],
  "GET /readyz": [
    { tag: GATEWAY, summary: "Report whether the gateway accepts requests; 503 while it shuts down.", gives: STATUS },
  ],
  "GET /openapi.json": [{ tag: GATEWAY, summary: "Return the OpenAPI description." }],
  "GET /docs": [{ tag: GATEWAY, summary: "Show the API documentation.", media: "text/html" }],
}
