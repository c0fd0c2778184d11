// Accounts at a provider are shared by tenants, so a request may name no object there: no cache, no file, no store.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import { storedObject } from "../extension.ts"

const MEMBERS = ["cachedContent", "cached_content", "modelArmorConfig", "model_armor_config"]
const TOOLS = ["fileSearch", "file_search", "retrieval"]

/** Throws for the first such name in a request whose shape has been checked; `path` is where the request stands. */
export function refuseStoredObjects(request: JsonObject, path = ""): void {
  refuseMembers(request, { names: MEMBERS, path })
  eachObject(request.tools, (tool, at) => refuseMembers(tool, { names: TOOLS, path: `${path}tools${at}.` }))
  eachObject(request.contents, ({ parts }, at) => {
    if (!Array.isArray(parts) || parts.some(mayHoldFile)) refuseFiles(parts, `${path}contents${at}.parts`)
  })
  for (const name of ["systemInstruction", "system_instruction"]) {
    const instruction = request[name]
    if (isObject(instruction)) refuseFiles(instruction.parts, `${path}${name}.parts`)
  }
}

function refuseMembers(holder: JsonObject, { names, path }: { names: readonly string[]; path: string }): void {
  for (const name of names) {
    if (holder[name] !== undefined && holder[name] !== null) throw storedObject(path + name)
  }
}

export function refuseFiles(parts: Json | undefined, path: string): void {
  eachObject(parts, (part, at) => {
    if (!mayHoldFile(part)) return
    refuseFile(part.fileData, `${path}${at}.fileData`)
    refuseFile(part.file_data, `${path}${at}.file_data`)
    // A function's result may hold files as well.
    const { functionResponse: camel, function_response: snake } = part
    if (isObject(camel)) refuseFiles(camel.parts, `${path}${at}.functionResponse.parts`)
    if (isObject(snake)) refuseFiles(snake.parts, `${path}${at}.function_response.parts`)
  })
}

/** Most parts are text: their paths are never put into words. */
function mayHoldFile(part: Json): boolean {
  if (!isObject(part)) return false
  const { fileData, file_data, functionResponse, function_response } = part
  return (fileData ?? file_data ?? functionResponse ?? function_response) !== undefined
}

function refuseFile(file: Json | undefined, path: string): void {
  if (!isObject(file)) return
  for (const name of ["fileUri", "file_uri"]) {
    const uri = file[name]
    if (uri !== undefined && uri !== null && !isPublic(uri)) throw storedObject(`${path}.${name}`)
  }
}

/** An address that anybody may fetch. The vendor's own files, and buckets, are read with the account's rights. */
function isPublic(uri: Json): boolean {
  if (typeof uri !== "string" || !URL.canParse(uri)) return false
  const { protocol, hostname } = new URL(uri)
  return /^https?:$/.test(protocol) && !/generativelanguage\.googleapis\.com\.?$/.test(hostname)
}

/** The vendor takes a single object for an array of one. */
function eachObject(value: Json | undefined, take: (item: JsonObject, at: string) => void): void {
  if (isObject(value)) take(value, "")
  if (!Array.isArray(value)) return
  for (let index = 0; index < value.length; index++) {
    const item = value[index]
    if (isObject(item)) take(item, `[${index}]`)
  }
}
