// The protocols a run can use: the request of each, and its configuration.

export const PROTOCOLS = ["openai-chat", "openai-responses", "anthropic-messages", "gemini-generate"] as const
export type BenchProtocolName = (typeof PROTOCOLS)[number]

export type BenchProtocol = {
  protocol: BenchProtocolName
  /** The provider type of the upstream, and the end of its base address. */
  type: string
  base: string
  headers: Record<string, string>
  path(options: { model: string; stream: boolean }): string
  /** The request around the messages. All have `stream`, by which the upstream and the bare proxy choose the answer. */
  body(options: { model: string; stream: boolean; messages: BenchMessage[] }): object
}

type BenchMessage = { role: string; content: string }

const openai = { type: "openai-compatible", base: "/v1", headers: {} }

const WIRES: Record<BenchProtocolName, Omit<BenchProtocol, "protocol">> = {
  "openai-chat": {
    ...openai,
    path: () => "/v1/chat/completions",
    body: ({ model, stream, messages }) => ({ model, messages, temperature: 0.7, max_tokens: 1024, stream }),
  },
  "openai-responses": {
    ...openai,
    path: () => "/v1/responses",
    body: ({ model, stream, messages }) => ({
      model,
      input: messages,
      temperature: 0.7,
      max_output_tokens: 1024,
      stream,
    }),
  },
  "anthropic-messages": {
    type: "anthropic-compatible",
    base: "",
    headers: { "anthropic-version": "2023-06-01" },
    path: () => "/msgapi/v1/messages",
    body: ({ model, stream, messages: [system, ...messages] }) => ({
      model,
      system: system?.content,
      messages,
      max_tokens: 1024,
      stream,
    }),
  },
  "gemini-generate": {
    type: "gemini-compatible",
    base: "",
    headers: {},
    path: ({ model, stream }) =>
      `/genapi/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: ({ stream, messages: [system, ...messages] }) => ({
      contents: messages.map(({ role, content }) => ({
        role: role === "assistant" ? "model" : role,
        parts: [{ text: content }],
      })),
      systemInstruction: { parts: [{ text: system?.content }] },
      generationConfig: { temperature: 0.7, maxOutputTokens: 1024 },
      stream,
    }),
  },
}

export function benchProtocol(protocol: BenchProtocolName): BenchProtocol {
  return { protocol, ...WIRES[protocol] }
}
