// Reads a responses request.
import { isObject, type JsonObject } from "../../canonical/json.ts"
import { PromptTranscript, plainText } from "../prompt-transcript.ts"
import { SimulatedRefusal } from "../simulated-call.ts"
import type { AnswerFormat, SimulatedRequest, SimulatedToolChoice } from "../simulated-request.ts"
import { number, type OptionalJson, object, objects, text, texts } from "./json-members.ts"
import { checkedChoice, readFunction } from "./openai-chat-request.ts"
import { missingParameter, requireModel } from "./openai-error.ts"

/** Display of reasoning: none, an item without text, or an item with a summary. */
export interface ReasoningDisplay {
  readonly isRequested: boolean
  readonly withSummary: boolean
  readonly encrypted: boolean
}

export function readResponsesRequest(body: JsonObject): SimulatedRequest {
  const model = requireModel(body)
  refuseMemory(body)
  if (typeof body.input !== "string" && !Array.isArray(body.input)) throw missingParameter("input")
  const tools = objects(body.tools).filter(({ type }) => type === "function")
  const transcript = new PromptTranscript()
  for (const tool of tools) transcript.add(JSON.stringify(tool))
  transcript.add(text(body.instructions))
  if (typeof body.input === "string") transcript.user(body.input)
  for (const item of objects(body.input)) readItem(item, transcript)
  const { prompt, lastWords, toolResults } = transcript
  const known = tools.map((tool) => readFunction(tool, "parameters"))
  return {
    model,
    prompt,
    lastWords,
    toolResults,
    tools: known,
    toolChoice: checkedChoice(readChoice(body.tool_choice), known),
    parallelToolCalls: body.parallel_tool_calls !== false,
    format: readFormat(object(object(body.text).format)),
    maxOutputTokens: number(body.max_output_tokens),
    stop: [],
    count: 1,
    reasoning: readReasoning(body).isRequested,
  }
}

export function readReasoning(body: JsonObject): ReasoningDisplay {
  const { effort, summary, generate_summary } = object(body.reasoning)
  const withSummary = typeof (summary ?? generate_summary) === "string"
  const isRequested = effort !== "none" && (withSummary || typeof effort === "string")
  return { isRequested, withSummary, encrypted: texts(body.include).includes("reasoning.encrypted_content") }
}

/** The simulator stores no responses. */
function refuseMemory({ previous_response_id: previous }: JsonObject): void {
  if (typeof previous !== "string") return
  throw new SimulatedRefusal(`Previous response with id '${previous}' not found.`, {
    param: "previous_response_id",
    code: "previous_response_not_found",
  })
}

function readItem(item: JsonObject, transcript: PromptTranscript): void {
  const type = text(item.type ?? "message")
  if (type === "message") readMessage(item, transcript)
  else if (type === "reasoning") transcript.add(plainText(item.summary))
  else if (type.endsWith("_call_output")) transcript.result(plainText(item.output))
  else if (type === "function_call" || type === "custom_tool_call") {
    transcript.begin()
    transcript.add(`${text(item.name)} ${text(item.arguments ?? item.input)}`)
  }
}

function readMessage({ role, content }: JsonObject, transcript: PromptTranscript): void {
  if (role === "user" || role === "assistant") transcript.begin()
  if (role !== "user") transcript.add(plainText(content))
  else if (typeof content === "string") transcript.user(content)
  else {
    for (const part of objects(content)) {
      if (part.type === "input_image") transcript.image(part.image_url ?? part.file_id)
      else transcript.user(text(part.text))
    }
  }
}

function readChoice(choice: OptionalJson): SimulatedToolChoice {
  if (choice === "none" || choice === "required") return { mode: choice }
  if (!isObject(choice)) return { mode: "auto" }
  if (choice.type === "function") return { mode: "required", only: [text(choice.name)] }
  // The simulator has no hosted tools, forced or not.
  if (choice.type !== "allowed_tools") return { mode: "auto" }
  const only = objects(choice.tools).map(({ name }) => text(name))
  return { mode: choice.mode === "required" ? "required" : "auto", only }
}

function readFormat({ type, schema }: JsonObject): AnswerFormat | undefined {
  if (type === "json_schema") return { schema: schema ?? {} }
  return type === "json_object" ? {} : undefined
}
