// Responses at the upstream's end: parsing a request.
import type { MatrixJson, MediaFile, ReceivedConversation, ReceivedPart, ReceivedTurn } from "../conversation.ts"
import { dataIn, given, list, members, numberOrNone, parsed, text, textOrNone, type WireMembers } from "../wire.ts"
import { joined, type RequestTarget } from "./upstream-format.ts"

/** Sealed reasoning is good only under the id it came with, or without any. */
export const REASONING_ID = "rs_0a1b2c3d4e5f"

export function parseResponsesRequest(body: WireMembers, { model, stream }: RequestTarget): ReceivedConversation {
  const items: WireMembers[] =
    typeof body.input === "string" ? [{ role: "user", content: body.input }] : list(body.input).map(members)
  const instructs = ({ role }: WireMembers) => role === "system" || role === "developer"
  const instructions = [text(body.instructions), ...items.filter(instructs).map(({ content }) => textIn(content))]
  const format = members(members(body.text).format)
  return {
    model,
    stream,
    instructions: instructions.filter((each) => each !== "").join("\n\n"),
    turns: joined(items.filter((item) => !instructs(item)).map(turnOf)),
    tools: list(body.tools)
      .map(members)
      .filter(({ type }) => type !== "mcp")
      .map(({ name, description, parameters }) => {
        return { name: text(name), description: text(description), schema: (parameters ?? null) as MatrixJson }
      }),
    servers: list(body.tools)
      .map(members)
      .filter(({ type }) => type === "mcp")
      .map(({ server_label, server_url, authorization, allowed_tools }) => ({
        ...{ label: text(server_label), url: text(server_url), token: text(authorization) },
        allowed: list(allowed_tools).map(text),
      })),
    choice: choiceOf(body.tool_choice),
    // There is no member for it.
    stop: [],
    marked: [],
    ...given({
      schema: format.schema as MatrixJson | undefined,
      maxOutputTokens: numberOrNone(body.max_output_tokens),
      effort: textOrNone(members(body.reasoning).effort),
      cacheKey: textOrNone(body.prompt_cache_key),
    }),
  }
}

function choiceOf(choice: unknown): ReceivedConversation["choice"] {
  if (choice === "none") return "none"
  if (choice === "required") return "any"
  const { name } = members(choice)
  return name === undefined ? "auto" : { tool: text(name) }
}

function textIn(content: unknown): string {
  return typeof content === "string"
    ? content
    : list(content)
        .map((part) => text(members(part).text))
        .join("")
}

function turnOf(item: WireMembers): ReceivedTurn {
  if (item.type === "reasoning") return { by: "assistant", parts: [reasoningOf(item)] }
  if (item.type === "function_call") {
    const call = {
      id: text(item.call_id),
      name: text(item.name),
      arguments: parsed(text(item.arguments)) as MatrixJson,
    }
    return { by: "assistant", parts: [{ kind: "call", call }] }
  }
  if (item.type === "function_call_output") return { by: "user", parts: [resultOf(item)] }
  const { role, content } = item
  if (role === undefined) return { by: "user", parts: [{ kind: "unknown", value: item }] }
  const parts = typeof content === "string" ? [{ kind: "text" as const, text: content }] : list(content).map(partOf)
  return { by: role === "assistant" ? "assistant" : "user", parts }
}

function reasoningOf({ id = REASONING_ID, summary, encrypted_content }: WireMembers): ReceivedPart {
  const sealed = text(encrypted_content)
  const seal = id === REASONING_ID ? sealed : `${sealed} under the id ${id}`
  return { kind: "reasoning", text: textIn(summary), seal }
}

function resultOf({ call_id, output }: WireMembers): ReceivedPart {
  const images = list(output)
    .map(members)
    .filter(({ type }) => type === "input_image")
    .map((part): MediaFile => dataIn(text(part.image_url)))
  return { kind: "result", callId: text(call_id), text: textIn(output), images, failed: false }
}

function partOf(value: unknown): ReceivedPart {
  const part = members(value)
  if (part.type === "input_text" || part.type === "output_text") return { kind: "text", text: text(part.text) }
  if (part.type === "input_image") return { kind: "image", media: dataIn(text(part.image_url)) }
  if (part.type === "input_file") return { kind: "document", media: dataIn(text(part.file_data)) }
  return { kind: "unknown", value }
}
