// Each protocol: requests as clients send them, and responses as providers send them, unary and streamed.
import { anthropicMessage, anthropicWords } from "../stage/anthropic-wire.ts"
import { geminiResponse, geminiWords } from "../stage/gemini-wire.ts"
import { responseObject, responseWords } from "../stage/responses-wire.ts"
import { completion, streamedWords } from "../stage/upstream.ts"

export type JsonBody = Readonly<Record<string, unknown>>

export interface WireDialect {
  readonly name: "chat" | "responses" | "messages" | "gemini events" | "gemini array"
  path(model: string, streamed: boolean): string
  headers(key: string): Record<string, string>
  body(question: string, options: { readonly model: string; readonly streamed: boolean }): JsonBody
  /** A test for this protocol's requests at the provider. */
  readonly upstreamPath: RegExp
  answer(text: string): JsonBody
  events(text: string): string[]
  /** The number of events before the first text. */
  readonly openers: number
  /** The number of events at the end that may be missing from a complete answer. */
  readonly dispensable: number
}

const json = { "content-type": "application/json" }
const bearer = (key: string) => ({ ...json, authorization: `Bearer ${key}` })

export const chat: WireDialect = {
  name: "chat",
  path: () => "/v1/chat/completions",
  headers: bearer,
  body: (question, { model, streamed }) => ({
    model,
    messages: [{ role: "user", content: question }],
    ...(streamed && { stream: true }),
  }),
  upstreamPath: /\/chat\/completions$/,
  answer: (text) => completion(text),
  events: streamedWords,
  openers: 1,
  dispensable: 1,
}

export const responses: WireDialect = {
  name: "responses",
  path: () => "/v1/responses",
  headers: bearer,
  body: (question, { model, streamed }) => ({ model, input: question, ...(streamed && { stream: true }) }),
  upstreamPath: /\/responses$/,
  answer: (text) => responseObject(text),
  events: responseWords,
  openers: 4,
  dispensable: 0,
}

export const messages: WireDialect = {
  name: "messages",
  path: () => "/anthropic/v1/messages",
  headers: (key) => ({ ...json, "x-api-key": key, "anthropic-version": "2023-06-01" }),
  body: (question, { model, streamed }) => ({
    model,
    max_tokens: 100,
    messages: [{ role: "user", content: question }],
    ...(streamed && { stream: true }),
  }),
  upstreamPath: /\/messages$/,
  answer: (text) => anthropicMessage(text),
  events: anthropicWords,
  openers: 3,
  dispensable: 1,
}

const gemini = {
  headers: (key: string) => ({ ...json, "x-goog-api-key": key }),
  body: (question: string) => ({ contents: [{ role: "user", parts: [{ text: question }] }] }),
  upstreamPath: /GenerateContent|:generateContent/,
  answer: (text: string) => geminiResponse(text, "STOP"),
  events: geminiWords,
  openers: 0,
  dispensable: 0,
}

export const geminiEvents: WireDialect = {
  ...gemini,
  name: "gemini events",
  path: (model, streamed) =>
    `/gemini/v1beta/models/${model}:${streamed ? "streamGenerateContent?alt=sse" : "generateContent"}`,
}

export const geminiArray: WireDialect = {
  ...gemini,
  name: "gemini array",
  path: (model, streamed) => `/gemini/v1beta/models/${model}:${streamed ? "streamGenerateContent" : "generateContent"}`,
}

/** Only the client distinguishes arrays from events: the provider gets requests for events in both cases. */
export const WIRE_DIALECTS: readonly WireDialect[] = [chat, responses, messages, geminiEvents, geminiArray]

/** The dialect of a request to the provider. */
export function dialectAt(upstreamPath: string): WireDialect {
  const path = upstreamPath.split("?")[0] ?? ""
  return WIRE_DIALECTS.find((each) => each.upstreamPath.test(path)) ?? chat
}

/** Asks as a caller of this protocol does. */
export function ask(
  dialect: WireDialect,
  { url, key }: { readonly url: string; readonly key: string },
  { question = "hi", model = "test/model", streamed = false } = {},
): Promise<Response> {
  return fetch(url + dialect.path(model, streamed), {
    method: "POST",
    headers: dialect.headers(key),
    body: JSON.stringify(dialect.body(question, { model, streamed })),
  })
}
