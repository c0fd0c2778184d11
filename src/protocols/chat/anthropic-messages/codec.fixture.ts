// Shared by this codec's tests: contexts, decoded and encoded streams, and requests that use the whole protocol.

import type { ChatRequest } from "../../../canonical/chat/chat-request.ts"
import type { StreamEvent } from "../../../canonical/chat/stream-event.ts"
import type { JsonObject } from "../../../canonical/json.ts"
import type { Loss } from "../../../canonical/loss.ts"
import { decodeSse } from "../../../transport/streams/sse.ts"
import type { ClientResponseContext, UpstreamRequestContext } from "../../chat-codec.ts"
import { anthropicMessagesCodec } from "./codec.ts"

const { ingress, upstream } = anthropicMessagesCodec

function upstreamContext(changes: Partial<UpstreamRequestContext> = {}): UpstreamRequestContext {
  return {
    model: "claude-x",
    stream: false,
    streamUsage: "sent",
    minter: "anthropic",
    maxOutputTokens: 8192,
    reasons: true,
    losses: [],
    ...changes,
  }
}

export function encodeContext(losses: Loss[] = []): ClientResponseContext {
  const id = "0123456789abcdefghijklmn"
  const request = { model: "a/b", tools: [], settings: {}, stream: false, routing: { fallback: [] } }
  return { id, model: "a/b", request, unixTime: 1, usageRequested: true, framing: "events", losses }
}

const envelope = { does: "generate", rest: "", query: "", headers: { "anthropic-version": "2026-10-21" } } as const

export function decoded(body: object): ChatRequest {
  return ingress.decodeRequest(body as JsonObject, envelope)
}

/** An encoded request and its losses. */
export function encoded(request: ChatRequest, changes: Partial<UpstreamRequestContext> = {}) {
  const losses: Loss[] = []
  const body = upstream.encodeRequest(request, upstreamContext({ ...changes, losses }))
  return { body, losses, lost: losses.map(({ path, weight, how }) => `${how} ${path} (${weight})`) }
}

/** A request as another protocol's decoder makes it. */
export function foreignRequest(changes: Partial<ChatRequest> = {}): ChatRequest {
  return {
    model: "a/b",
    instructions: [],
    turns: [{ role: "user", at: "messages[0]", parts: [{ kind: "text", at: "messages[0].content", text: "hi" }] }],
    tools: [],
    settings: {},
    stream: false,
    routing: { fallback: [] },
    ...changes,
  }
}

export function readStream(pieces: readonly string[]): StreamEvent[] {
  const sse = decodeSse()
  const decoder = upstream.decodeStream({ id: "x", minter: "anthropic" })
  const frames = [...pieces.flatMap((piece) => sse.push(piece)), ...sse.finish()]
  return [...frames.flatMap((frame) => decoder.push(frame)), ...decoder.finish()]
}

export function writeStream(events: readonly StreamEvent[], context = encodeContext()): string[] {
  const encoder = ingress.encodeStream(context)
  return [...events.flatMap((event) => encoder.push(event)), ...encoder.finish()]
}

export const events = (...data: readonly { type: string; [member: string]: unknown }[]): string =>
  data.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join("")

const ephemeral = { type: "ephemeral" }

/** Everything the protocol has, as its clients write it. */
export const rich: JsonObject = {
  model: "a/b",
  max_tokens: 3000,
  system: [
    { type: "text", text: "be kind", cache_control: ephemeral },
    { type: "text", text: "be brief", cache_control: { type: "ephemeral", ttl: "1h" } },
  ],
  messages: [
    { role: "user", content: "hi" },
    { role: "assistant", content: "hello" },
    {
      role: "user",
      content: [
        { type: "text", text: "look", cache_control: ephemeral },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0K" } },
        { type: "image", source: { type: "url", url: "https://a.b/c.png" } },
        { type: "document", title: "T", context: "C", source: { type: "url", url: "https://a.b/c.pdf" } },
        { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" } },
        {
          type: "document",
          citations: { enabled: true },
          source: { type: "text", media_type: "text/plain", data: "words", later: 1 },
        },
        { type: "document", source: { type: "content", content: [{ type: "text", text: "x" }] } },
        { type: "search_result", source: "https://a.b", title: "t", content: [{ type: "text", text: "x" }] },
        { type: "tomorrow", x: [1, null] },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", signature: "c2ln" },
        { type: "redacted_thinking", data: "cmVk" },
        { type: "thinking", thinking: "unsigned", signature: "" },
        {
          type: "text",
          text: "see",
          citations: [
            {
              type: "char_location",
              cited_text: "w",
              document_index: 0,
              document_title: "T",
              start_char_index: 0,
              end_char_index: 1,
            },
            { type: "page_location", cited_text: "w", document_index: 0, start_page_number: 1, end_page_number: 2 },
            {
              type: "web_search_result_location",
              url: "https://a.b",
              title: "t",
              encrypted_index: "e",
              cited_text: "w",
            },
            {
              type: "search_result_location",
              source: "https://a.b",
              title: "t",
              cited_text: "w",
              search_result_index: 0,
            },
            { type: "search_result_location", source: "kb-1", title: "t", cited_text: "w", search_result_index: 0 },
          ],
        },
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
        {
          type: "web_search_tool_result",
          tool_use_id: "srvtoolu_1",
          content: [{ type: "web_search_result", url: "u", title: "t", encrypted_content: "e" }],
        },
        { type: "server_tool_use", id: "srvtoolu_2", name: "code_execution", input: {} },
        {
          type: "code_execution_tool_result",
          tool_use_id: "srvtoolu_2",
          content: { type: "code_execution_tool_result_error", error_code: "unavailable" },
        },
        { type: "mcp_tool_use", id: "mcptoolu_1", name: "m", server_name: "s", input: {} },
        { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", is_error: true, content: "no" },
        { type: "tool_use", id: "toolu_1", name: "f", input: { a: null, b: [1] }, cache_control: ephemeral },
        {
          type: "tool_use",
          id: "toolu_2",
          name: "f",
          input: {},
          caller: { type: "code_execution_20250825", tool_id: "x" },
        },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_1", content: "ok", cache_control: ephemeral },
        {
          type: "tool_result",
          tool_use_id: "toolu_2",
          is_error: true,
          content: [
            { type: "text", text: "bad" },
            { type: "image", source: { type: "base64", media_type: "image/gif", data: "R0lG" } },
            { type: "tool_reference", tool_name: "f" },
          ],
        },
        { type: "tool_result", tool_use_id: "toolu_3" },
        { type: "text", text: "and?" },
      ],
    },
    { role: "system", content: [{ type: "text", text: "now shout" }] },
    { role: "user", content: "go", later: true },
  ],
  tools: [
    {
      name: "f",
      description: "d",
      input_schema: { type: "object", minProperties: 1 },
      strict: true,
      defer_loading: true,
    },
    { name: "g", input_schema: { type: "object" }, cache_control: ephemeral },
    { type: "web_search_20250305", name: "web_search", max_uses: 3 },
    { type: "computer_20250124", name: "computer", display_width_px: 1, display_height_px: 1 },
    { type: "mcp_toolset", mcp_server_name: "s" },
  ],
  tool_choice: { type: "tool", name: "f", disable_parallel_tool_use: true },
  thinking: { type: "enabled", budget_tokens: 2000, display: "summarized" },
  output_config: {
    effort: "high",
    format: { type: "json_schema", schema: { type: "object" } },
    task_budget: { total: 1 },
  },
  temperature: 1,
  top_p: 0.99,
  top_k: 5,
  stop_sequences: ["x", "\n"],
  metadata: { user_id: "u", other: 1 },
  mcp_servers: [{ type: "url", url: "https://m", name: "s" }],
  context_management: { edits: [] },
  cache_control: ephemeral,
  service_tier: "auto",
  tomorrow: { a: [1] },
}

const plain: JsonObject = { model: "a/b", max_tokens: 9, messages: [{ role: "user", content: "hi" }] }

/** Requests with one feature each. */
export const requests: readonly JsonObject[] = [
  plain,
  { ...plain, system: "be kind" },
  { ...plain, thinking: { type: "disabled" } },
  { ...plain, thinking: { type: "disabled" }, output_config: { effort: "low" } },
  { ...plain, thinking: { type: "adaptive" } },
  { ...plain, thinking: { type: "adaptive", display: "omitted" }, output_config: { effort: "max" } },
  { ...plain, thinking: { type: "enabled", budget_tokens: 1024 } },
  { ...plain, thinking: { type: "between_tools" } },
  { ...plain, thinking: { type: "adaptive", later: 1 } },
  { ...plain, output_config: { effort: "low" } },
  { ...plain, output_config: { effort: "tomorrow", format: { type: "json_schema", schema: {} } } },
  { ...plain, output_config: { effort: "low" }, output_format: { type: "json_schema", schema: {} } },
  { ...plain, tool_choice: { type: "auto" } },
  { ...plain, tool_choice: { type: "any", disable_parallel_tool_use: false } },
  { ...plain, tool_choice: { type: "none" } },
  { ...plain, tool_choice: { type: "tomorrow", x: 1 } },
  { ...plain, metadata: {} },
  { ...plain, stop_sequences: [] },
  { ...plain, messages: [{ role: "user", content: [] }] },
  {
    ...plain,
    messages: [
      { role: "assistant", content: "a" },
      { role: "assistant", content: " " },
    ],
  },
  { ...plain, messages: [{ role: "user", content: [{ type: "text", text: "", citations: [] }] }] },
  {
    ...plain,
    messages: [{ role: "user", content: [{ type: "text", text: "x", cache_control: { type: "eternal" } }] }],
  },
  JSON.parse('{"model":"a/b","max_tokens":1,"messages":[],"__proto__":{"x":1},"constructor":2}'),
]
