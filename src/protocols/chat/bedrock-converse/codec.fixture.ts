// Shared by this codec's tests: contexts, parts, and streams as AWS's frames contain them.

import type { ChatRequest, FunctionTool } from "../../../canonical/chat/chat-request.ts"
import type { ContentPart, TextPart, ToolCallPart, ToolResultPart } from "../../../canonical/chat/content-part.ts"
import type { StreamEvent } from "../../../canonical/chat/stream-event.ts"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { Loss } from "../../../canonical/loss.ts"
import { encodeByteText } from "../../../transport/json/byte-text.ts"
import { decodeSse, encodeSse } from "../../../transport/streams/sse.ts"
import type { UpstreamRequestContext, UpstreamResponseContext } from "../../chat-codec.ts"
import { bedrockConverseCodec } from "./codec.ts"

export const decoding: UpstreamResponseContext = { id: "abcdefghijklmnopqrstuvwx", minter: "the-minter" }

export const CLAUDE = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
export const OLD_CLAUDE = "anthropic.claude-3-7-sonnet-20250219-v1:0"
export const NEW_CLAUDE = "global.anthropic.claude-opus-5"
export const NOVA = "us.amazon.nova-2-lite-v1:0"
export const LLAMA = "meta.llama3-3-70b-instruct-v1:0"
export const GPT_OSS = "openai.gpt-oss-120b-1:0"
const QWEN = "qwen.qwen3-32b-v1:0"
export const UNKNOWN = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123"
export const MODELS = [CLAUDE, OLD_CLAUDE, NEW_CLAUDE, NOVA, LLAMA, GPT_OSS, QWEN, UNKNOWN]

/** An encoded request and its losses. */
export function encoded(request: ChatRequest, changes: Partial<UpstreamRequestContext> = {}) {
  const losses: Loss[] = []
  const body = bedrockConverseCodec.encodeRequest(request, {
    ...{
      model: CLAUDE,
      stream: false,
      streamUsage: "sent",
      minter: "the-minter",
      maxOutputTokens: 8192,
      reasons: true,
    },
    ...changes,
    losses,
  })
  return { body, losses, lost: losses.map(({ path, weight, how }) => `${how} ${path} (${weight})`) }
}

export function request(changes: Partial<ChatRequest> = {}): ChatRequest {
  const turns = [turnOf("user", { kind: "text", at: "messages[0].content", text: "hi" })]
  const routing = { fallback: [] }
  return { model: "a/b", instructions: [], turns, tools: [], settings: {}, stream: false, routing, ...changes }
}

export function turnOf(role: "user" | "assistant" | "instruction", ...parts: readonly ContentPart[]) {
  return { role, at: "messages[0]", parts } as const
}

export const text = (words: string, more: Partial<TextPart> = {}): TextPart => ({
  ...{ kind: "text", at: "p", text: words, ...more },
})
export const call = (id: string, args = "{}"): ToolCallPart => ({
  ...{ kind: "tool-call", at: "p", id, name: "f", arguments: args, runsAt: "client" },
})
export const result = (
  callId: string,
  parts: readonly ContentPart[] = [text("ok")],
  isError = false,
): ToolResultPart => ({
  ...{ kind: "tool-result", at: "p", callId, parts, isError },
})
export const tool: FunctionTool = {
  ...{ kind: "function", at: "tools[0]", name: "f", description: "d", parameters: { type: "object" } },
}
/** The same, as it is sent. */
export const toolSpec = { toolSpec: { name: "f", description: "d", inputSchema: { json: { type: "object" } } } }

export function refusal(run: () => unknown): GatewayError {
  try {
    run()
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
  throw new Error("it was not refused")
}

type ConverseEvent = readonly [type: string, event: object]

/** Events as the provider's line writes them. */
export function streamText(events: readonly ConverseEvent[]): string {
  return events.map(([event, data]) => encodeSse({ event, data: encodeByteText(JSON.stringify(data)) })).join("")
}

export function decodedStream(pieces: readonly string[]): StreamEvent[] {
  const sse = decodeSse()
  const decoder = bedrockConverseCodec.decodeStream(decoding)
  const frames = [...pieces.flatMap((piece) => sse.push(piece)), ...sse.finish()]
  return [...frames.flatMap((frame) => decoder.push(frame)), ...decoder.finish()]
}
