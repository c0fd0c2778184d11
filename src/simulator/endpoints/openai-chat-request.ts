// Reads a chat completions request.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import { PromptTranscript, plainText } from "../prompt-transcript.ts"
import { SimulatedRefusal, wholeNumber } from "../simulated-call.ts"
import type { AnswerFormat, SimulatedRequest, SimulatedTool, SimulatedToolChoice } from "../simulated-request.ts"
import { number, type OptionalJson, object, objects, text, texts } from "./json-members.ts"
import { missingParameter, requireModel } from "./openai-error.ts"

export function readChatRequest(body: JsonObject): SimulatedRequest {
  const model = requireModel(body)
  const messages = objects(body.messages)
  if (!Array.isArray(body.messages)) throw missingParameter("messages")
  if (messages.length === 0) {
    throw new SimulatedRefusal("Invalid 'messages': empty array. Expected at least 1 message.", {
      param: "messages",
      code: "empty_array",
    })
  }
  const tools = readTools(body)
  const transcript = new PromptTranscript()
  for (const tool of tools) transcript.add(JSON.stringify(tool))
  for (const message of messages) readMessage(message, transcript)
  const { prompt, lastWords, toolResults } = transcript
  const known = tools.map((declared) => readFunction(declared, "parameters"))
  return {
    model,
    prompt,
    lastWords: lastWords || plainText(messages.at(-1)?.content),
    toolResults,
    tools: known,
    toolChoice: checkedChoice(isLegacyRequest(body) ? legacyChoice(body) : readChoice(body.tool_choice), known),
    parallelToolCalls: body.parallel_tool_calls !== false && !isLegacyRequest(body),
    format: readFormat(object(body.response_format)),
    maxOutputTokens: number(body.max_completion_tokens ?? body.max_tokens),
    stop: typeof body.stop === "string" ? [body.stop] : texts(body.stop),
    count: wholeNumber(body.n, { param: "n", from: 1, to: 128, otherwise: 1 }),
    reasoning: requestsReasoning(body),
  }
}

/** True for the legacy form, which declares `functions` and is answered with a `function_call`. */
export function isLegacyRequest({ tools, functions }: JsonObject): boolean {
  return !Array.isArray(tools) && Array.isArray(functions)
}

function readTools(body: JsonObject): readonly JsonObject[] {
  if (isLegacyRequest(body)) return objects(body.functions)
  return objects(body.tools)
    .filter(({ type }) => type === "function")
    .map(({ function: declared }) => object(declared))
}

function legacyChoice({ function_call: choice }: JsonObject): SimulatedToolChoice {
  if (isObject(choice)) return { mode: "required", only: [text(choice.name)] }
  return { mode: choice === "none" ? "none" : "auto" }
}

function readMessage(message: JsonObject, transcript: PromptTranscript): void {
  const { role, content } = message
  if (role === "user" || role === "assistant") transcript.begin()
  if (role === "tool" || role === "function") transcript.result(plainText(content))
  else if (role === "user") readUser(content, transcript)
  else transcript.add(plainText(content))
  for (const { function: called } of objects(message.tool_calls)) transcript.add(JSON.stringify(called ?? {}))
}

function readUser(content: OptionalJson, transcript: PromptTranscript): void {
  if (typeof content === "string") transcript.user(content)
  for (const part of objects(content)) {
    if (part.type === "image_url") transcript.image(part.image_url)
    else transcript.user(text(part.text))
  }
}

/** A declared function; `schemaMember` names the member with its parameters. */
export function readFunction(declared: JsonObject, schemaMember: string): SimulatedTool {
  return { name: text(declared.name), description: text(declared.description), schema: declared[schemaMember] }
}

function readChoice(choice: OptionalJson): SimulatedToolChoice {
  if (choice === "none" || choice === "required") return { mode: choice }
  if (!isObject(choice)) return { mode: "auto" }
  if (choice.type !== "allowed_tools") return { mode: "required", only: [text(object(choice.function).name)] }
  const { mode, tools } = object(choice.allowed_tools)
  const only = objects(tools).map((tool) => text(object(tool.function).name))
  return { mode: mode === "required" ? "required" : "auto", only }
}

/** Refuses a forced tool that is not declared. */
export function checkedChoice(choice: SimulatedToolChoice, tools: readonly SimulatedTool[]): SimulatedToolChoice {
  const only = choice.only ?? tools.map(({ name }) => name)
  const isThere = tools.some(({ name }) => only.includes(name))
  if (choice.mode !== "required" || isThere) return choice
  throw new SimulatedRefusal(`Tool choice '${only.join(", ")}' not found in 'tools' parameter.`, {
    param: "tool_choice",
  })
}

function readFormat({ type, json_schema }: JsonObject): AnswerFormat | undefined {
  if (type === "json_schema") return { schema: object(json_schema).schema ?? {} }
  return type === "json_object" ? {} : undefined
}

/** OpenAI's member, and those of compatible hosts that had reasoning earlier. */
function requestsReasoning({ reasoning_effort, reasoning, thinking }: JsonObject): boolean {
  const isOn = (value: Json | undefined) => typeof value === "string" && value !== "none"
  if (isOn(reasoning_effort) || object(thinking).type === "enabled") return true
  const { effort, enabled, max_tokens } = object(reasoning)
  return isOn(effort) || enabled === true || number(max_tokens) !== undefined
}
