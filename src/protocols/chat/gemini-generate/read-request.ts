// Checks a generateContent or countTokens request, and lists its destination and the members that the gateway owns.

import { isDeepStrictEqual } from "node:util"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { type FieldCheck, fieldMismatch, runFieldChecks } from "../../../canonical/schema/field-mismatch.ts"
import { asciiJson, type JsonEdit } from "../../../transport/json/json-splice.ts"
import { generateMembers } from "../../body-schemas.ts"
import type { OutputLimits, RelayTarget, RequestEnvelope, RequestSummary } from "../../contract.ts"
import { arrayOf, nonEmptyString, object, optional, required, string } from "../../field-checks.ts"
import { NO_HEADERS, readRoutingOptions, refuseUnpriced, removeFallbackList } from "../../gateway-extension.ts"
import { readPath } from "./endpoints.ts"

/** The members in which countTokens may have a whole request, which then names its model. */
export const WRAPPERS = ["generateContentRequest", "generate_content_request"]
/** Inputs of embeddings can be counted as well. */
const COUNTED_KINDS: NonNullable<RequestSummary["kinds"]> = ["chat", "embedding"]
/** Some models that draw do so in this protocol. */
const GENERATING_KINDS: NonNullable<RequestSummary["kinds"]> = ["chat", "image"]
const ORDINARY_TIERS = ["standard", "SERVICE_TIER_STANDARD", "unspecified", "SERVICE_TIER_UNSPECIFIED"]
const ORDINARY = { serviceTier: ORDINARY_TIERS, service_tier: ORDINARY_TIERS }

export function readRequest(body: JsonObject, { rest, query }: RequestEnvelope): RequestSummary {
  const { model, method } = readPath(rest)
  return runFieldChecks(() => {
    const wrapper = method === "countTokens" ? WRAPPERS.find((name) => isPresent(body[name])) : undefined
    const outputLimits = wrapper === undefined ? checkContent(body) : checkWrapped(body)
    refuseUnpriced(body, ORDINARY)
    return {
      operation: wrapper === undefined ? method : `${method}/${wrapper}`,
      model,
      stream: method === "streamGenerateContent",
      framing: wantsEvents(query) ? "events" : "array",
      usageRequested: true,
      outputLimits,
      ...(runsTools(body.tools) && { runsTools: true }),
      ...(requestsAudio(body) && { audioMember: "generationConfig.responseModalities" }),
      ...(method === "countTokens" ? { counts: true, kinds: COUNTED_KINDS } : { kinds: GENERATING_KINDS }),
      routing: readRoutingOptions(body),
      headers: NO_HEADERS,
    }
  })
}

function requestsAudio({ generationConfig, generation_config }: JsonObject): boolean {
  const config = generationConfig ?? generation_config
  const modalities = isObject(config) ? (config.responseModalities ?? config.response_modalities) : undefined
  return Array.isArray(modalities) && modalities.includes("AUDIO")
}

function runsTools(tools: Json | undefined): boolean {
  const all = Array.isArray(tools) ? tools : [tools]
  return all.some((tool) => isObject(tool) && Object.keys(tool).some((name) => !DECLARATIONS.includes(name)))
}

const DECLARATIONS = ["functionDeclarations", "function_declarations", "computerUse", "computer_use"]

function isPresent(value: Json | undefined): value is Json {
  return value !== undefined && value !== null
}

function wantsEvents(query: string): boolean {
  if (query === "") return false
  const parameters = new URLSearchParams(query)
  return (parameters.get("alt") ?? parameters.get("$alt")) === "sse"
}

function checkContent(body: JsonObject): OutputLimits {
  contents(body.contents)
  systemInstruction(body)
  tools(body.tools)
  return generationConfig(body) ?? ONE_ANSWER
}

function checkWrapped(body: JsonObject): OutputLimits {
  wrapped(body)
  noContents(body.contents)
  return ONE_ANSWER
}

const ONE_ANSWER: OutputLimits = { candidates: 1 }

/** A member with two spellings; the vendor accepts either. */
export function eitherSpelling<T>(name: string, check: FieldCheck<T>): (holder: JsonObject) => T | undefined {
  const other = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const camel = optional(name, check)
  const snake = optional(other, check)
  const second = optional(other, () => {
    throw fieldMismatch(`left out where \`${name}\` is sent, or equal to it`)
  })
  return (holder) => {
    if (!isPresent(holder[other])) return camel(holder[name])
    if (!isPresent(holder[name])) return snake(holder[other])
    if (!isDeepStrictEqual(holder[name], holder[other])) second(holder[other])
    return camel(holder[name])
  }
}

/** As `spelled`, of a member that must be there. */
function requiredSpelling<T>(name: string, check: FieldCheck<T>): (holder: JsonObject) => void {
  const given = eitherSpelling(name, check)
  const missing = required(name, check)
  return (holder) => {
    if (given(holder) === undefined) missing(undefined)
  }
}

const partText = optional("text", string)
const mimeType = requiredSpelling("mimeType", nonEmptyString)
const data = required("data", string)
const inlineData = eitherSpelling("inlineData", (value) => {
  const blob = object(value)
  mimeType(blob)
  data(blob.data)
})
const fileUri = requiredSpelling("fileUri", nonEmptyString)
const fileData = eitherSpelling("fileData", (value) => fileUri(object(value)))
const functionCall = eitherSpelling("functionCall", object)
const functionResponse = eitherSpelling("functionResponse", object)
const somePart = (value: Json): void => {
  const part = object(value)
  partText(part.text)
  inlineData(part)
  fileData(part)
  functionCall(part)
  functionResponse(part)
}
const someParts = arrayOf(somePart)
export const parts = required("parts", someParts)

/** No role is the user's. */
const ROLES = ["user", "model", "function", ""]
const role = optional("role", (value) => {
  if (!ROLES.includes(string(value))) throw fieldMismatch("one of `user`, `model`, `function`, or left out")
})
const someContents = arrayOf((value) => {
  const content = object(value)
  role(content.role)
  parts(content.parts)
})
const contents = required("contents", (value) => {
  if (someContents(value).length === 0) throw fieldMismatch("an array with at least one item")
})
const noContents = optional("contents", () => {
  throw fieldMismatch("left out where `generateContentRequest` is sent")
})

/** The vendor accepts a single part as a list of one. */
const instructionParts = optional("parts", (value) => {
  if (Array.isArray(value)) someParts(value)
  else somePart(value)
})
const systemInstruction = eitherSpelling("systemInstruction", (value) => instructionParts(object(value).parts))

const temperature = optional("temperature", generateMembers.temperature.read)
const topP = eitherSpelling("topP", generateMembers.topP.read)
const topK = eitherSpelling("topK", generateMembers.topK.read)
const maxOutputTokens = eitherSpelling("maxOutputTokens", generateMembers.maxOutputTokens.read)
const candidateCount = eitherSpelling("candidateCount", generateMembers.candidateCount.read)
const stopSequences = eitherSpelling("stopSequences", arrayOf(string))
const generationConfig = eitherSpelling("generationConfig", (value): OutputLimits => {
  const config = object(value)
  temperature(config.temperature)
  topP(config)
  topK(config)
  stopSequences(config)
  return { maxOutputTokens: maxOutputTokens(config), candidates: candidateCount(config) ?? 1 }
})

const functionName = required("name", nonEmptyString)
const functionDescription = optional("description", string)
const functionDeclarations = eitherSpelling(
  "functionDeclarations",
  arrayOf((value) => {
    const declared = object(value)
    functionName(declared.name)
    functionDescription(declared.description)
  }),
)
const tools = optional(
  "tools",
  arrayOf((value) => functionDeclarations(object(value))),
)

const wrapped = eitherSpelling("generateContentRequest", (value) => void checkContent(object(value)))

function methodOf(operation: string): string {
  return operation.split("/", 1)[0] ?? operation
}

/** The upstream path always requests events: their boundaries can be found without parsing JSON. */
export function upstreamPath({ operation, stream }: RequestSummary, model: string): string {
  return pathOf(methodOf(operation), { model, stream })
}

export function pathOf(method: string, { model, stream }: { model: string; stream: boolean }): string {
  return `/v1beta/models/${pathName(model)}:${method}${stream ? "?alt=sse" : ""}`
}

/** A model's slashes, colons and at signs mean themselves in a path. */
function pathName(model: string): string {
  return PLAIN_NAME.test(model) ? model : encodeURIComponent(model).replace(/%2F|%3A|%40/g, decodeURIComponent)
}

const PLAIN_NAME = /^[\w./:@-]+$/

/** The path names the model; one in the body could only contradict it. */
export function requestEdits(reading: RequestSummary, target: RelayTarget): readonly JsonEdit[] {
  const { operation, routing } = reading
  const slash = operation.indexOf("/")
  if (slash < 0 && !routing.fallbackList) return NAMELESS
  const edits = [...NAMELESS, ...removeFallbackList(reading)]
  if (slash < 0) return edits
  return [...edits, { path: [operation.slice(slash + 1), "model"], set: asciiJson(`models/${target.model}`) }]
}

export const NAMELESS: readonly JsonEdit[] = [
  { path: ["provider"], remove: true },
  { path: ["model"], remove: true },
]
