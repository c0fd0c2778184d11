// What the description says of each route: a sentence, and what stands behind a path's open end. A test fails for a
// route that nothing is said of.
import type { JsonObject } from "../../canonical/json.ts"
import type { ProtocolId, RequestEnvelope } from "../../protocols/contract.ts"
import { anyObject, integerFrom, listOf, objectOf, text } from "./schema-builders.ts"

type RouteOperation = RequestEnvelope["does"]

/** One operation of a route; a route with an open end may have several. */
export interface OperationText {
  readonly tag: string
  readonly summary: string
  /** The spelling of its path that is told first; left out, the first of them. */
  readonly at?: string
  /** What stands at the path's open end behind the name. */
  readonly end?: string
  /** Whether it is refused, whatever is asked. */
  readonly isRefused?: true
  /** Parameters behind the `?`, by name. */
  readonly query?: Readonly<Record<string, string>>
  /** What it answers; left out, an object of the vendor's. */
  readonly gives?: JsonObject
  /** How it may answer beside JSON. */
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
  limit: "How many models, from 1 to 1000; all of them where no paging parameter is given.",
  after_id: "The id of the model behind which the page begins.",
  before_id: "The id of the model before which the page ends.",
}
const CONTENT_PAGES = {
  pageSize: "How many models, from 1 to 1000; all of them where it is left out. Also `page_size`.",
  pageToken: "`nextPageToken` of the page before. Also `page_token`.",
}

const GENERATION = "Content generation"
const AT = "/genapi/v1beta/models/{model}"

export const PROTOCOL_TEXTS: Readonly<Record<ProtocolId, OperationTexts>> = {
  "openai-chat": {
    generate: [{ tag: "Chat completions", summary: "Answer a conversation.", streams: true }],
    ...listingTexts(),
  },
  "openai-responses": {
    generate: [{ tag: "Responses", summary: "Answer, and keep the response unless `store` is false.", streams: true }],
    "count-tokens": [{ tag: "Responses", summary: "Count the tokens of a request's input." }],
  },
  "openai-completions": {
    generate: [
      { tag: "Completions", summary: "Continue a text. Legacy: for models whose hosts have it.", streams: true },
    ],
  },
  "openai-embeddings": { generate: [{ tag: "Embeddings", summary: "Turn texts into vectors." }] },
  "openai-images": { generate: [{ tag: "Images", summary: "Draw images." }] },
  "openai-moderations": { generate: [{ tag: "Moderations", summary: "Judge what texts and images might offend." }] },
  "anthropic-messages": {
    generate: [{ tag: "Messages", summary: "Answer a conversation.", streams: true }],
    "count-tokens": [{ tag: "Messages", summary: "Count the tokens of a request's input." }],
    ...listingTexts({ query: MESSAGE_PAGES }),
  },
  "gemini-generate": {
    generate: [
      { tag: GENERATION, at: AT, end: ":generateContent", summary: "Answer a conversation." },
      {
        tag: GENERATION,
        at: AT,
        end: ":streamGenerateContent",
        summary: "Answer a conversation, streamed.",
        query: { alt: "`sse` for server-sent events; left out, one JSON array, element by element." },
        streams: true,
      },
      { tag: GENERATION, at: AT, end: ":countTokens", summary: "Count the tokens of a request." },
      {
        tag: GENERATION,
        at: AT,
        end: ":embedContent",
        summary: "Turn one text into a vector.",
        speaks: "gemini-embed",
      },
      {
        tag: GENERATION,
        at: AT,
        end: ":batchEmbedContents",
        summary: "Turn texts into vectors.",
        speaks: "gemini-embed",
      },
    ],
    ...listingTexts({ query: CONTENT_PAGES, at: AT }),
  },
  "gemini-embed": {},
}

const KEPT = "/v1/responses/{id}"
const OWN = "The caller's own"
const GATEWAY = "The gateway"
const STATUS = objectOf({ required: { status: text } })

export const GREETING = "/api/hello"

/** Routes of the gateway's own, by method and path. */
export const GATEWAY_TEXTS: Readonly<Record<string, readonly OperationText[]>> = {
  "GET /v1/key": [
    { tag: OWN, summary: "Show the key: its scope, limits, budgets, balance and debt, and what is left of each." },
  ],
  "GET /v1/receipts/{id}": [
    { tag: OWN, summary: "Show what a request cost, how that was reckoned and where it went, by its `x-request-id`." },
  ],
  [`GET ${KEPT}`]: [
    { tag: "Responses", summary: "Show a response that is kept." },
    {
      tag: "Responses",
      end: "/input_items",
      summary: "List what the request of a kept response said.",
      query: { limit: "From 1 to 100; 20 where it is left out.", order: "`desc`, or `asc`.", after: "An item's id." },
      gives: objectOf({ required: { object: text, data: listOf(anyObject) } }),
    },
  ],
  [`DELETE ${KEPT}`]: [{ tag: "Responses", summary: "Keep a response no longer." }],
  [`POST ${KEPT}`]: [
    {
      tag: "Responses",
      end: "/cancel",
      summary: "Always refused: nothing is answered in the background.",
      isRefused: true,
    },
  ],
  [`HEAD ${GREETING}`]: [{ tag: GATEWAY, summary: "Say that somebody is there." }],
  "GET /": [{ tag: GATEWAY, summary: "Name the places to begin at; a browser is redirected to `/docs`." }],
  "GET /health": [{ tag: GATEWAY, summary: "Redirect to `/healthz`.", gives: STATUS }],
  "GET /healthz": [{ tag: GATEWAY, summary: "Say that the process lives.", gives: STATUS }],
  "GET /readyz": [
    { tag: GATEWAY, summary: "Say whether requests are taken; 503 while the gateway stops.", gives: STATUS },
  ],
  "GET /openapi.json": [{ tag: GATEWAY, summary: "Describe this interface." }],
  "GET /docs": [{ tag: GATEWAY, summary: "Describe this interface, to be read.", media: "text/html" }],
}
