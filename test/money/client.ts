// A plain client of each protocol: sends one request, and reads the answer or leaves in the middle of it.

export const PROTOCOLS = ["openai-chat", "openai-responses", "anthropic-messages", "gemini-generate"] as const
export type ProtocolName = (typeof PROTOCOLS)[number]

export interface MoneyRequest {
  readonly url: string
  readonly key: string
  readonly protocol: ProtocolName
  readonly model: string
  readonly stream: boolean
  /** Whether a stream of chat completions shall report usage; other protocols always do. */
  readonly usageRequested?: boolean
  readonly text?: string
  readonly maxTokens?: number
  readonly fallback?: readonly string[]
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

/** The result of a unary answer or of a whole stream. */
export interface MoneyAnswer {
  readonly status: number
  readonly id: string
  readonly cost: string | null
  /** The mark of counts that the provider did not report. */
  readonly usageMark: string | null
  readonly text: string
}

function ask(asking: MoneyRequest): Promise<Response> {
  const { url, key, protocol, stream, headers, signal } = asking
  return fetch(url + pathOf(asking), {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      ...(protocol === "anthropic-messages" && { "anthropic-version": "2023-06-01" }),
      ...headers,
    },
    body: JSON.stringify({ ...bodyOf(asking), ...(stream && protocol !== "gemini-generate" && { stream: true }) }),
    ...(signal && { signal }),
  })
}

export async function sendRequest(asking: MoneyRequest): Promise<MoneyAnswer> {
  const answer = await ask(asking)
  const { status, headers } = answer
  return {
    status,
    id: headers.get("x-request-id") ?? "",
    cost: headers.get("x-gateway-cost"),
    usageMark: headers.get("x-gateway-usage"),
    text: await answer.text(),
  }
}

/** Reads until `enough` is true, and leaves. */
export async function readSome(asking: MoneyRequest, enough: (text: string) => boolean): Promise<MoneyAnswer> {
  const leaving = new AbortController()
  const answer = await ask({ ...asking, signal: leaving.signal })
  const { status, headers, body } = answer
  let text = ""
  const decoder = new TextDecoder()
  const reader = body?.getReader()
  while (!enough(text)) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done) break
    text += decoder.decode(value, { stream: true })
  }
  leaving.abort()
  return { status, id: headers.get("x-request-id") ?? "", cost: null, usageMark: null, text }
}

function pathOf({ protocol, model, stream }: MoneyRequest): string {
  if (protocol === "openai-chat") return "/v1/chat/completions"
  if (protocol === "openai-responses") return "/v1/responses"
  if (protocol === "anthropic-messages") return "/msgapi/v1/messages"
  return `/genapi/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`
}

function bodyOf(asking: MoneyRequest): object {
  const { protocol, model, text = "Say something.", maxTokens, fallback = [] } = asking
  const provider = fallback.length > 0 ? { provider: { fallback } } : {}
  if (protocol === "gemini-generate") {
    const generationConfig = maxTokens === undefined ? {} : { generationConfig: { maxOutputTokens: maxTokens } }
    return { contents: [{ role: "user", parts: [{ text }] }], ...generationConfig, ...provider }
  }
  const limit = maxTokens === undefined ? {} : { [LIMITS[protocol]]: maxTokens }
  if (protocol === "openai-responses") return { model, input: text, ...limit, ...provider }
  const must = protocol === "anthropic-messages" ? { max_tokens: 1000 } : {}
  const options = asking.stream && asking.usageRequested ? { stream_options: { include_usage: true } } : {}
  return { model, messages: [{ role: "user", content: text }], ...must, ...limit, ...options, ...provider }
}

const LIMITS = {
  "openai-chat": "max_completion_tokens",
  "openai-responses": "max_output_tokens",
  "anthropic-messages": "max_tokens",
}

/** The counts that a unary answer, or a whole stream, shows its client; undefined where it shows none. */
export function usageShown(protocol: ProtocolName, text: string): { input: number; output: number } | undefined {
  const events = text.startsWith("{")
    ? [text]
    : text.split("\n").flatMap((line) => /^data: ?(\{.*)/.exec(line)?.[1] ?? [])
  const usages = events
    .map((event) => usageIn(JSON.parse(event)))
    .filter((usage) => usage !== undefined && usage !== null)
  const counts = usages.at(-1)
  if (!counts) return undefined
  const [input, output] = MEMBERS[protocol].map((name) => counts[name] ?? Number.NaN)
  return { input: input ?? Number.NaN, output: output ?? Number.NaN }
}

type TokenFigures = Readonly<Record<string, number>>

function usageIn(body: {
  usage?: TokenFigures
  usageMetadata?: TokenFigures
  response?: { usage?: TokenFigures }
}): TokenFigures | undefined {
  return body.usage ?? body.usageMetadata ?? body.response?.usage
}

const MEMBERS = {
  "openai-chat": ["prompt_tokens", "completion_tokens"],
  "openai-responses": ["input_tokens", "output_tokens"],
  "anthropic-messages": ["input_tokens", "output_tokens"],
  "gemini-generate": ["promptTokenCount", "candidatesTokenCount"],
} as const
