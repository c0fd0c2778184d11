// Responses with the `openai` library.
import type OpenAI from "openai"
import type { Response, ResponseInputItem, ResponseOutputItem } from "openai/resources/responses/responses"
import {
  type ClientReply,
  type MatrixRequest,
  type RemoteServer,
  type RequestTurn,
  type UserPart,
  unspeakable,
} from "../conversation.ts"
import { given, list, members, parsed, text } from "../wire.ts"
import { ListeningFetch, type MatrixClient, type MatrixConnection, outcomeOf } from "./client.ts"
import { addressOf, openaiAt, openaiFailure } from "./openai-chat.ts"

export function openaiResponsesClient(connection: MatrixConnection): MatrixClient {
  const { model } = connection
  const ear = new ListeningFetch()
  const openai = openaiAt(connection, ear)
  const whole = async (ask: MatrixRequest): Promise<ClientReply> => {
    const response = await openai.responses.create({ ...bodyOf(ask, model), stream: false })
    return replyOf(response, response.output)
  }
  const streamed = async (ask: MatrixRequest, pieces: string[]): Promise<ClientReply> => {
    const stream = openai.responses.stream(bodyOf(ask, model))
    let output: readonly ResponseOutputItem[] = []
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") pieces.push(event.delta)
      // The helper's own items bear members that its users may not send back.
      if (event.type === "response.output_item.done") output = [...output, event.item]
    }
    return replyOf(await stream.finalResponse(), output)
  }
  return {
    protocol: "openai-responses",
    library: "openai",
    endings: {
      stop: ["completed"],
      "stop-sequence": ["completed"],
      length: ["incomplete: max_output_tokens"],
      "tool-calls": ["completed"],
      refusal: ["incomplete: content_filter", "refusal"],
    },
    send: (ask, { stream }) =>
      outcomeOf(async (pieces) => {
        const reply = stream ? await streamed(ask, pieces) : await whole(ask)
        return { ...reply, ...given({ losses: ear.losses }) }
      }, openaiFailure),
  }
}

type ResponsesClientParams = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, "stream">

function bodyOf(ask: MatrixRequest, model: string): ResponsesClientParams {
  return given({
    model,
    store: ask.byReference === true,
    include: ["reasoning.encrypted_content" as const],
    instructions: ask.instructions,
    input: ask.turns.flatMap((turn) => itemsOf(turn, ask)),
    tools: ask.server
      ? [serverTool(ask.server)]
      : ask.tools?.map(({ name, description, schema }) => ({
          type: "function" as const,
          name,
          description,
          parameters: members(schema),
          strict: false,
        })),
    tool_choice: ask.forcedTool === undefined ? undefined : { type: "function" as const, name: ask.forcedTool },
    text: ask.format && {
      format: { type: "json_schema" as const, name: ask.format.name, schema: members(ask.format.schema), strict: true },
    },
    reasoning: ask.thinkHard && { effort: "high" as const, summary: "auto" as const },
    max_output_tokens: ask.maxOutputTokens,
    prompt_cache_key: ask.cached && "matrix-key",
  }) as ResponsesClientParams
}

function serverTool({ label, url, token, allowed }: RemoteServer) {
  const named = { type: "mcp" as const, server_label: label, server_url: url, authorization: token }
  return { ...named, allowed_tools: [...allowed], require_approval: "never" as const }
}

function itemsOf(turn: RequestTurn, { byReference }: MatrixRequest): ResponseInputItem[] {
  if (turn.by === "user") return [{ role: "user", content: turn.parts.map(partOf) }]
  if (turn.by === "tools") {
    return turn.results.map(({ call, text: output, image }) => ({
      type: "function_call_output",
      call_id: call.id,
      output: image ? [partOf({ text: output }), partOf({ image })] : output,
    }))
  }
  if (!("echo" in turn)) return [{ role: "assistant", content: turn.text }]
  const items = turn.echo as ResponseInputItem[]
  return byReference ? items.map((item) => ({ type: "item_reference", id: text(members(item).id) })) : items
}

type ResponsesInputPart =
  | OpenAI.Responses.ResponseInputText
  | OpenAI.Responses.ResponseInputImage
  | OpenAI.Responses.ResponseInputFile

function partOf(part: UserPart): ResponsesInputPart {
  if ("text" in part) return { type: "input_text", text: part.text }
  if ("passage" in part) return unspeakable(part)
  if ("image" in part) return { type: "input_image", image_url: addressOf(part.image), detail: "auto" }
  return { type: "input_file", filename: part.document.name, file_data: addressOf(part.document) }
}

function replyOf(response: Response, output: readonly ResponseOutputItem[]): ClientReply {
  const { usage, status, incomplete_details } = response
  const refusals = output.flatMap((item) =>
    item.type === "message" ? item.content.flatMap((part) => (part.type === "refusal" ? [part.refusal] : [])) : [],
  )
  const finish = incomplete_details?.reason === undefined ? text(status) : `${status}: ${incomplete_details.reason}`
  return {
    text: response.output_text,
    reasoning: output.map(thoughtIn).join(""),
    ...(refusals.length > 0 && { refusal: refusals.join("") }),
    calls: output.flatMap((item) =>
      item.type === "function_call"
        ? [{ id: item.call_id, name: item.name, arguments: parsed(item.arguments) as never }]
        : [],
    ),
    remoteCalls: output.flatMap((item) =>
      item.type === "mcp_call"
        ? [
            {
              ...{ server: item.server_label, name: item.name },
              ...{ arguments: parsed(item.arguments) as never, output: item.output ?? "" },
            },
          ]
        : [],
    ),
    finish: refusals.length > 0 ? "refusal" : finish,
    model: response.model,
    ...(usage && {
      usage: {
        input: usage.input_tokens,
        cacheRead: usage.input_tokens_details.cached_tokens,
        output: usage.output_tokens,
        reasoning: usage.output_tokens_details.reasoning_tokens,
      },
    }),
    echo: output,
  }
}

function thoughtIn(item: ResponseOutputItem): string {
  if (item.type !== "reasoning") return ""
  return [...list(item.summary), ...list(item.content)].map((part) => text(members(part).text)).join("")
}
