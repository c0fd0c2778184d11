// Messages with the `@anthropic-ai/sdk` library.
import Anthropic from "@anthropic-ai/sdk"
import type { Message, MessageParam } from "@anthropic-ai/sdk/resources/messages"
import type {
  ClientFailure,
  ClientReply,
  MatrixRequest,
  MediaFile,
  RemoteCall,
  RemoteServer,
  RequestTurn,
  UserPart,
} from "../conversation.ts"
import { given, list, members, numberOrNone, text, textOrNone } from "../wire.ts"
import { ListeningFetch, type MatrixClient, type MatrixConnection, outcomeOf, PATIENCE_MS } from "./client.ts"

export function anthropicMessagesClient({ gateway, key, model }: MatrixConnection): MatrixClient {
  const ear = new ListeningFetch()
  const baseURL = gateway.anthropic
  const anthropic = new Anthropic({ baseURL, apiKey: key, maxRetries: 0, timeout: PATIENCE_MS, fetch: ear.fetch })
  // Beta features are on another object of the library, which is otherwise the same.
  const beta = anthropic.beta.messages as unknown as typeof anthropic.messages
  const messagesFor = ({ server }: MatrixRequest) => (server ? beta : anthropic.messages)
  const whole = async (ask: MatrixRequest): Promise<Message> => messagesFor(ask).create(bodyOf(ask, model))
  const streamed = async (ask: MatrixRequest, pieces: string[]): Promise<Message> => {
    const stream = messagesFor(ask).stream(bodyOf(ask, model))
    for await (const event of stream) {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") pieces.push(event.delta.text)
    }
    return stream.finalMessage()
  }
  return {
    protocol: "anthropic-messages",
    library: "@anthropic-ai/sdk",
    endings: {
      stop: ["end_turn"],
      "stop-sequence": ["stop_sequence", "end_turn"],
      length: ["max_tokens"],
      "tool-calls": ["tool_use"],
      refusal: ["refusal"],
    },
    send: (ask, { stream }) =>
      outcomeOf(async (pieces) => {
        const message = stream ? await streamed(ask, pieces) : await whole(ask)
        return { ...replyOf(message), ...given({ losses: ear.losses }) }
      }, failureOf),
  }
}

function failureOf(thrown: unknown): ClientFailure {
  if (!(thrown instanceof Anthropic.APIError)) {
    return { isOfLibrary: thrown instanceof Anthropic.AnthropicError, message: String(thrown) }
  }
  const code = textOrNone(members(members(thrown.error).error).code)
  return { isOfLibrary: true, message: thrown.message, ...given({ status: numberOrNone(thrown.status), code }) }
}

type MessagesClientParams = Anthropic.MessageCreateParamsNonStreaming
const MARK = { cache_control: { type: "ephemeral" } } as const

function bodyOf(ask: MatrixRequest, model: string): MessagesClientParams {
  const { instructions, cached = false, thinkHard, format } = ask
  const output = { ...(thinkHard && { effort: "high" }), ...(format && { format: formatOf(format.schema) }) }
  return given({
    model,
    // The protocol wants a limit.
    max_tokens: ask.maxOutputTokens ?? 4096,
    system:
      instructions !== undefined && cached ? [{ type: "text" as const, text: instructions, ...MARK }] : instructions,
    messages: ask.turns.map((turn, index) => messageOf(turn, cached && index === 0)),
    tools: ask.tools?.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
    tool_choice: ask.forcedTool === undefined ? undefined : { type: "tool" as const, name: ask.forcedTool },
    thinking: thinkHard && { type: "adaptive" as const, display: "summarized" as const },
    output_config: Object.keys(output).length > 0 ? output : undefined,
    stop_sequences: ask.stop && [...ask.stop],
    mcp_servers: ask.server && [serverOf(ask.server)],
    betas: ask.server && ["mcp-client-2025-04-04"],
  }) as unknown as MessagesClientParams
}

function serverOf({ label, url, token, allowed }: RemoteServer): object {
  const tool_configuration = { enabled: true, allowed_tools: [...allowed] }
  return { type: "url", url, name: label, authorization_token: token, tool_configuration }
}

function formatOf(schema: unknown): object {
  return { type: "json_schema", schema }
}

function messageOf(turn: RequestTurn, marked: boolean): MessageParam {
  if (turn.by === "user") {
    const last = turn.parts.length - 1
    const blocks = turn.parts.map((part, index) => ({ ...blockOf(part), ...(marked && index === last && MARK) }))
    return { role: "user", content: blocks }
  }
  if (turn.by === "tools") {
    return {
      role: "user",
      content: turn.results.map(({ call, text, image, failed }) => ({
        type: "tool_result" as const,
        tool_use_id: call.id,
        content: [{ type: "text" as const, text }, ...(image ? [imageOf(image)] : [])],
        ...(failed && { is_error: true }),
      })),
    }
  }
  const content = "echo" in turn ? (turn.echo as MessageParam["content"]) : turn.text
  return { role: "assistant", content }
}

function blockOf(part: UserPart): Anthropic.ContentBlockParam {
  if ("text" in part) return { type: "text", text: part.text }
  if ("image" in part) return imageOf(part.image)
  if ("passage" in part) {
    const { title, source, text } = part.passage
    return { type: "search_result", title, source, content: [{ type: "text", text }] }
  }
  const { base64, name } = part.document
  return { type: "document", source: { type: "base64", media_type: "application/pdf", data: base64 }, title: name }
}

function imageOf({ mediaType, base64 }: MediaFile): Anthropic.ImageBlockParam {
  return { type: "image", source: { type: "base64", media_type: mediaType as "image/png", data: base64 } }
}

function remoteCallsIn(content: readonly unknown[]): RemoteCall[] {
  const blocks = content.map(members)
  return blocks.flatMap(({ type, id, name, server_name, input }) => {
    if (type !== "mcp_tool_use") return []
    const result = blocks.find((block) => block.type === "mcp_tool_result" && block.tool_use_id === id)
    const output = list(result?.content).map((block) => text(members(block).text))
    return [{ server: text(server_name), name: text(name), arguments: input as never, output: output.join("") }]
  })
}

function replyOf(message: Message): ClientReply {
  const { content, stop_reason, stop_sequence, usage } = message
  const { cache_read_input_tokens, cache_creation_input_tokens } = usage
  return {
    text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
    reasoning: content.map((block) => (block.type === "thinking" ? block.thinking : "")).join(""),
    calls: content.flatMap((block) =>
      block.type === "tool_use" ? [{ id: block.id, name: block.name, arguments: block.input as never }] : [],
    ),
    remoteCalls: remoteCallsIn(content),
    finish: stop_reason ?? "",
    ...given({ stopSequence: stop_sequence ?? undefined }),
    model: message.model,
    usage: {
      input: usage.input_tokens + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0),
      output: usage.output_tokens,
      ...given({
        cacheRead: numberOrNone(cache_read_input_tokens),
        reasoning: numberOrNone(usage.output_tokens_details?.thinking_tokens),
      }),
    },
    echo: content,
  }
}
