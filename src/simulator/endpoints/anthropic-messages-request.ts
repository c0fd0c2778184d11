// Reads a messages request, cache marks included.
import { isObject, type JsonObject } from "../../canonical/json.ts"
import type { PromptPiece } from "../prompt-cache.ts"
import { PromptTranscript, plainText } from "../prompt-transcript.ts"
import { SimulatedRefusal } from "../simulated-call.ts"
import type { SimulatedRequest, SimulatedTool, SimulatedToolChoice } from "../simulated-request.ts"
import { number, type OptionalJson, object, objects, text, texts } from "./json-members.ts"

export function readMessagesRequest(body: JsonObject): SimulatedRequest {
  const transcript = readPrompt(body)
  if (number(body.max_tokens) === undefined) throw fieldRequired("max_tokens")
  const { prompt, lastWords, toolResults } = transcript
  const tools = objects(body.tools).filter(({ input_schema }) => isObject(input_schema))
  const known = tools.map((tool): SimulatedTool => {
    return { name: text(tool.name), description: text(tool.description), schema: tool.input_schema }
  })
  const choice = object(body.tool_choice)
  const format = object(object(body.output_config).format ?? body.output_format)
  return {
    model: text(body.model),
    prompt,
    lastWords,
    toolResults,
    tools: known,
    toolChoice: readChoice(choice, known),
    parallelToolCalls: choice.disable_parallel_tool_use !== true,
    format: format.type === "json_schema" ? { schema: format.schema ?? {} } : undefined,
    maxOutputTokens: number(body.max_tokens),
    stop: texts(body.stop_sequences),
    count: 1,
    reasoning: thinks(object(body.thinking), toolResults),
  }
}

/** Reads the input in the order that prompt caches use: tools, instructions, messages. */
export function readPrompt(body: JsonObject): PromptTranscript {
  if (text(body.model) === "") throw fieldRequired("model")
  if (!Array.isArray(body.messages)) throw fieldRequired("messages")
  if (body.messages.length === 0) throw new SimulatedRefusal("messages: at least one message is required")
  const transcript = new PromptTranscript()
  for (const { cache_control, ...tool } of objects(body.tools))
    transcript.add(JSON.stringify(tool), markOf(cache_control))
  if (typeof body.system === "string") transcript.add(body.system)
  for (const block of objects(body.system)) transcript.add(text(block.text), markOf(block.cache_control))
  for (const message of objects(body.messages)) readMessage(message, transcript)
  markLast(transcript, markOf(body.cache_control))
  return transcript
}

function fieldRequired(name: string): SimulatedRefusal {
  return new SimulatedRefusal(`${name}: Field required`)
}

function readMessage({ role, content }: JsonObject, transcript: PromptTranscript): void {
  // Newer clients put instructions between the messages.
  if (role !== "system") transcript.begin()
  const addText = (content: string, mark?: PromptPiece["mark"]): void => {
    if (role === "user") transcript.user(content, mark)
    else transcript.add(content, mark)
  }
  if (typeof content === "string") addText(content)
  for (const block of objects(content)) {
    const mark = markOf(block.cache_control)
    if (block.type === "tool_result") readResult(block, transcript)
    else if (block.type === "image" || block.type === "document") transcript.image(block.source, mark)
    else if (block.type === "tool_use") transcript.add(`${text(block.name)} ${JSON.stringify(block.input ?? {})}`, mark)
    else addText(text(block.text ?? block.thinking), mark)
  }
}

function readResult(block: JsonObject, transcript: PromptTranscript): void {
  for (const part of objects(block.content)) if (part.type === "image") transcript.image(part.source)
  transcript.result(plainText(block.content), markOf(block.cache_control))
}

function markOf(cacheControl: OptionalJson): PromptPiece["mark"] {
  if (!isObject(cacheControl)) return undefined
  return cacheControl.ttl === "1h" ? "long" : "short"
}

/** A mark on the request itself counts as one on its last block. */
function markLast({ prompt }: PromptTranscript, mark: PromptPiece["mark"]): void {
  const last = prompt.pop()
  if (last) prompt.push(mark ? { ...last, mark } : last)
}

function readChoice({ type, name }: JsonObject, tools: readonly SimulatedTool[]): SimulatedToolChoice {
  if (type === "none") return { mode: "none" }
  if (type !== "any" && type !== "tool") return { mode: "auto" }
  if (type === "any" && tools.length > 0) return { mode: "required" }
  if (tools.some((tool) => tool.name === name)) return { mode: "required", only: [text(name)] }
  throw new SimulatedRefusal(
    type === "any"
      ? "tool_choice: `tools` must be given"
      : `tool_choice: Tool '${text(name)}' not found in provided tools`,
  )
}

function thinks({ type }: JsonObject, toolResults: readonly string[]): boolean {
  if (type === "between_tools") return toolResults.length > 0
  return type === "enabled" || type === "adaptive"
}
