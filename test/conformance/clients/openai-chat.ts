// Chat completions with the `openai` library.
import OpenAI from "openai"
import type { ChatCompletion, ChatCompletionMessageParam } from "openai/resources/chat/completions"
import {
  type ClientFailure,
  type ClientReply,
  type MatrixRequest,
  type MediaFile,
  type RequestTurn,
  type UserPart,
  unspeakable,
} from "../conversation.ts"
import { given, list, members, numberOrNone, parsed, text } from "../wire.ts"
import { ListeningFetch, type MatrixClient, type MatrixConnection, outcomeOf, PATIENCE_MS } from "./client.ts"

export function openaiChatClient(connection: MatrixConnection): MatrixClient {
  const { model } = connection
  const ear = new ListeningFetch()
  const openai = openaiAt(connection, ear)
  const whole = async (ask: MatrixRequest): Promise<ClientReply> => {
    const completion = await openai.chat.completions.create({ ...bodyOf(ask, model), stream: false })
    return replyOf(completion, text(members(completion.choices[0]?.message).reasoning_content))
  }
  const streamed = async (ask: MatrixRequest, pieces: string[]): Promise<ClientReply> => {
    const stream = openai.chat.completions.stream({ ...bodyOf(ask, model), stream_options: { include_usage: true } })
    let reasoning = ""
    for await (const { choices } of stream) {
      const delta = members(choices[0]?.delta)
      reasoning += text(delta.reasoning_content)
      if (text(delta.content) !== "") pieces.push(text(delta.content))
    }
    return replyOf(await stream.finalChatCompletion(), reasoning)
  }
  return {
    protocol: "openai-chat",
    library: "openai",
    endings: {
      stop: ["stop"],
      "stop-sequence": ["stop"],
      length: ["length"],
      "tool-calls": ["tool_calls"],
      refusal: ["content_filter", "refusal"],
    },
    send: (ask, { stream }) =>
      outcomeOf(async (pieces) => {
        const reply = stream ? await streamed(ask, pieces) : await whole(ask)
        return { ...reply, ...given({ losses: ear.losses }) }
      }, openaiFailure),
  }
}

export function openaiAt({ gateway, key }: MatrixConnection, { fetch }: ListeningFetch): OpenAI {
  return new OpenAI({ baseURL: gateway.openai, apiKey: key, maxRetries: 0, timeout: PATIENCE_MS, fetch })
}

export function openaiFailure(thrown: unknown): ClientFailure {
  if (!(thrown instanceof OpenAI.APIError))
    return { isOfLibrary: thrown instanceof OpenAI.OpenAIError, message: String(thrown) }
  const { status, code } = thrown
  return { isOfLibrary: true, message: thrown.message, ...given({ status, code: code ?? undefined }) }
}

type ChatClientParams = Omit<OpenAI.Chat.ChatCompletionCreateParamsNonStreaming, "stream">

function bodyOf(ask: MatrixRequest, model: string): ChatClientParams {
  const system: ChatCompletionMessageParam[] =
    ask.instructions === undefined ? [] : [{ role: "system", content: ask.instructions }]
  return given({
    model,
    messages: [...system, ...ask.turns.flatMap(messagesOf)],
    tools: ask.tools?.map(({ name, description, schema }) => ({
      type: "function" as const,
      function: { name, description, parameters: members(schema) },
    })),
    tool_choice:
      ask.forcedTool === undefined ? undefined : { type: "function" as const, function: { name: ask.forcedTool } },
    response_format: ask.format && {
      type: "json_schema" as const,
      json_schema: { name: ask.format.name, schema: members(ask.format.schema), strict: true },
    },
    reasoning_effort: ask.thinkHard && ("high" as const),
    stop: ask.stop && [...ask.stop],
    max_completion_tokens: ask.maxOutputTokens,
    prompt_cache_key: ask.cached && "matrix-key",
  }) as ChatClientParams
}

function messagesOf(turn: RequestTurn): ChatCompletionMessageParam[] {
  if (turn.by === "user") {
    const [first, ...others] = turn.parts
    const alone = first && "text" in first && others.length === 0 ? first.text : undefined
    return [{ role: "user", content: alone ?? turn.parts.map(partOf) }]
  }
  if (turn.by === "tools") {
    return turn.results.map(({ call, text: output, image }) => {
      // The library's types know texts only; hosts and people do more.
      const content = image ? [{ type: "text", text: output }, partOf({ image })] : output
      return { role: "tool", tool_call_id: call.id, content } as ChatCompletionMessageParam
    })
  }
  return ["echo" in turn ? (turn.echo as ChatCompletionMessageParam) : { role: "assistant", content: turn.text }]
}

function partOf(part: UserPart): OpenAI.Chat.ChatCompletionContentPart {
  if ("text" in part) return { type: "text", text: part.text }
  if ("image" in part) return { type: "image_url", image_url: { url: addressOf(part.image) } }
  if ("passage" in part) return unspeakable(part)
  return { type: "file", file: { filename: part.document.name, file_data: addressOf(part.document) } }
}

export function addressOf({ mediaType, base64 }: MediaFile): string {
  return `data:${mediaType};base64,${base64}`
}

function replyOf({ choices, usage, model }: ChatCompletion, reasoning: string): ClientReply {
  const [choice] = choices
  const { content = null, refusal = null, tool_calls } = choice?.message ?? {}
  const calls = list(tool_calls).map((call) => {
    const { name, arguments: input } = members(members(call).function)
    return { id: text(members(call).id), name: text(name), arguments: parsed(text(input)) as never }
  })
  return {
    text: content ?? "",
    reasoning,
    ...given({ refusal: refusal ?? undefined }),
    calls,
    finish: refusal === null ? text(choice?.finish_reason) : "refusal",
    model,
    ...(usage && {
      usage: {
        input: usage.prompt_tokens,
        output: usage.completion_tokens,
        ...given({
          cacheRead: numberOrNone(usage.prompt_tokens_details?.cached_tokens),
          reasoning: numberOrNone(usage.completion_tokens_details?.reasoning_tokens),
        }),
      },
    }),
    // The part of an answer that most clients keep: unknown members are dropped.
    echo: { role: "assistant", content, ...(calls.length > 0 && { tool_calls }) },
  }
}
