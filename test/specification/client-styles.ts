// The three protocols from a caller's side: path, headers and smallest request.
import type { RunningGateway } from "../stage/gateway.ts"

export type SpecBody = Readonly<Record<string, unknown>>

export interface ClientStyle {
  /** Its name in the specification. */
  readonly name: "completions-style" | "messages-style" | "content-generation"
  path(model: string): string
  /** The header that carries the key. */
  keyHeader(key: string): Record<string, string>
  /** The headers of every request except the key. */
  readonly headers: Readonly<Record<string, string>>
  /** The smallest sound request. */
  body(model: string): SpecBody
  readonly listPath: string
}

const QUESTION = "How far is the moon?"

export const chat: ClientStyle = {
  name: "completions-style",
  path: () => "/v1/chat/completions",
  keyHeader: (key) => ({ authorization: `Bearer ${key}` }),
  headers: {},
  body: (model) => ({ model, messages: [{ role: "user", content: QUESTION }] }),
  listPath: "/v1/models",
}

export const messages: ClientStyle = {
  name: "messages-style",
  path: () => "/msgapi/v1/messages",
  keyHeader: (key) => ({ "x-api-key": key }),
  headers: { "msg-version": "2023-06-01" },
  body: (model) => ({ model, max_tokens: 1000, messages: [{ role: "user", content: QUESTION }] }),
  listPath: "/msgapi/v1/models",
}

export const generate: ClientStyle = {
  name: "content-generation",
  path: (model) => `/genapi/v1beta/models/${model}:generateContent`,
  keyHeader: (key) => ({ "x-gen-api-key": key }),
  headers: {},
  body: () => ({ contents: [{ role: "user", parts: [{ text: QUESTION }] }] }),
  listPath: "/genapi/v1beta/models",
}

export const STYLES: readonly ClientStyle[] = [chat, messages, generate]

export interface StyleRequest {
  readonly key?: string
  /** The model named; in the path or in the body, as the protocol has it. */
  readonly model?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

type StyleAddress = Pick<RunningGateway, "url" | "key">

/** A generating request in this style. */
export function sendRequest(
  { url, key: first }: StyleAddress,
  style: ClientStyle,
  { key = first, model = MODEL, body = style.body(model), headers = {} }: StyleRequest = {},
): Promise<Response> {
  return fetch(url + style.path(model), {
    method: "POST",
    headers: { "content-type": "application/json", ...style.headers, ...style.keyHeader(key), ...headers },
    body: JSON.stringify(body),
  })
}

/** A listing in this style. */
export function list({ url, key }: StyleAddress, style: ClientStyle, path = style.listPath): Promise<Response> {
  return fetch(url + path, { headers: { ...style.headers, ...style.keyHeader(key) } })
}

/** A model of the demo's that no test has a reason to prefer. */
export const MODEL = "meta/llama-3.3-70b"

interface ErrorBody {
  readonly error: {
    readonly code: unknown
    readonly message: unknown
    readonly type: unknown
    readonly param?: unknown
  }
}

export async function errorOf(response: Response): Promise<ErrorBody["error"]> {
  return ((await response.json()) as ErrorBody).error
}

export async function objectOf(response: Response): Promise<SpecBody> {
  return (await response.json()) as SpecBody
}
