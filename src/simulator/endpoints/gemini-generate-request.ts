// Reads a generateContent request, in either of the spellings that Google accepts.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import { PromptTranscript, plainText } from "../prompt-transcript.ts"
import { SimulatedRefusal, wholeNumber } from "../simulated-call.ts"
import type { AnswerFormat, SimulatedRequest, SimulatedTool, SimulatedToolChoice } from "../simulated-request.ts"
import { either, number, object, objects, text, texts } from "./json-members.ts"

export function readGenerateRequest(body: JsonObject, model: string): SimulatedRequest {
  const { prompt, lastWords, toolResults } = readContents(body)
  const config = object(either(body, "generationConfig"))
  return {
    model,
    prompt,
    lastWords,
    toolResults,
    tools: declarations(body).map(readDeclaration),
    toolChoice: readChoice(object(either(object(either(body, "toolConfig")), "functionCallingConfig"))),
    parallelToolCalls: true,
    format: readFormat(config),
    maxOutputTokens: number(either(config, "maxOutputTokens")),
    stop: texts(either(config, "stopSequences")),
    count: wholeNumber(either(config, "candidateCount"), {
      param: "generation_config.candidate_count",
      from: 1,
      to: 8,
      otherwise: 1,
    }),
    reasoning: readThinking(body).isRequested,
  }
}

export function readContents(body: JsonObject): PromptTranscript {
  const contents = objects(body.contents)
  if (contents.length === 0)
    throw new SimulatedRefusal("* GenerateContentRequest.contents: contents is not specified\n")
  const transcript = new PromptTranscript()
  for (const tool of declarations(body)) transcript.add(JSON.stringify(tool))
  transcript.add(plainText(object(either(body, "systemInstruction")).parts))
  for (const content of contents) readContent(content, transcript)
  return transcript
}

/** Reads if thinking is requested, and if the thoughts are sent to the client. */
export function readThinking(body: JsonObject): { isRequested: boolean; isShown: boolean } {
  const config = object(either(object(either(body, "generationConfig")), "thinkingConfig"))
  const isShown = either(config, "includeThoughts") === true
  const budget = number(either(config, "thinkingBudget"))
  const isRequested = budget !== 0 && (isShown || budget !== undefined || text(either(config, "thinkingLevel")) !== "")
  return { isRequested, isShown: isRequested && isShown }
}

/** Google accepts a single tool instead of a list. */
function declarations({ tools }: JsonObject): readonly JsonObject[] {
  return (isObject(tools) ? [tools] : objects(tools)).flatMap((tool) => objects(either(tool, "functionDeclarations")))
}

function readDeclaration(declared: JsonObject): SimulatedTool {
  const schema = either(declared, "parametersJsonSchema") ?? declared.parameters
  return { name: text(declared.name), description: text(declared.description), schema }
}

function readContent({ role, parts }: JsonObject, transcript: PromptTranscript): void {
  const isAnswered = objects(parts).some((part) => either(part, "functionResponse") !== undefined)
  if (!isAnswered) transcript.begin()
  for (const part of objects(parts)) {
    const media = either(part, "inlineData") ?? either(part, "fileData")
    const called = either(part, "functionCall")
    const response = either(part, "functionResponse")
    if (media !== undefined) transcript.image(media)
    else if (called !== undefined) transcript.add(JSON.stringify(called))
    else if (response !== undefined) transcript.result(resultText(object(response).response ?? {}))
    else if (role === "model") transcript.add(text(part.text))
    else transcript.user(text(part.text))
  }
}

/** A response with one text member is quoted as that text. */
function resultText(response: Json): string {
  const members = Object.values(object(response))
  const [only] = members
  return members.length === 1 && typeof only === "string" ? only : JSON.stringify(response)
}

function readChoice(config: JsonObject): SimulatedToolChoice {
  const mode = text(config.mode).toUpperCase()
  if (mode === "NONE") return { mode: "none" }
  const allowed = texts(either(config, "allowedFunctionNames"))
  return { mode: mode === "ANY" ? "required" : "auto", only: allowed.length > 0 ? allowed : undefined }
}

function readFormat(config: JsonObject): AnswerFormat | undefined {
  const type = text(either(config, "responseMimeType"))
  const schema = either(config, "responseJsonSchema") ?? config._responseJsonSchema ?? either(config, "responseSchema")
  if (type === "text/x.enum") return { schema, bare: true }
  return type === "application/json" ? { schema } : undefined
}
