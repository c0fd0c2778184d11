// Lists the input items of a response: complete, with ids, and in pages.
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"

/** A response's input, as its request had it. */
interface InputListSource {
  readonly responseId: string
  readonly input: Json
}

const MAX_LIMIT = 100
const USUAL_LIMIT = 20

export function listInput(source: InputListSource, query: URLSearchParams): Json {
  const limit = limitIn(query)
  const items = itemsOf(source)
  if (orderIn(query) === "desc") items.reverse()
  const after = query.get("after")
  const last = after === null ? -1 : items.findIndex(({ id }) => id === after)
  if (after !== null && last < 0) throw invalid("after", "must be the id of an item of this response's input")
  const data = items.slice(last + 1, last + 1 + limit)
  const page = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
  return { object: "list", data, ...page, has_more: last + 1 + limit < items.length }
}

function limitIn(query: URLSearchParams): number {
  const limit = query.get("limit")
  if (limit === null) return USUAL_LIMIT
  const number = Number(limit)
  if (/^\d{1,3}$/.test(limit) && number >= 1 && number <= MAX_LIMIT) return number
  throw invalid("limit", `must be a whole number from 1 to ${MAX_LIMIT}`)
}

function orderIn(query: URLSearchParams): string {
  const order = query.get("order") ?? "desc"
  if (order === "asc" || order === "desc") return order
  throw invalid("order", "must be `asc` or `desc`")
}

function invalid(param: string, must: string): GatewayError {
  return new GatewayError("invalid_parameter", `\`${param}\` ${must}.`, { param })
}

/** Id prefixes by item type. */
const PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  function_call_output: "fco",
}

function itemsOf({ responseId, input }: InputListSource): (JsonObject & { readonly id: string })[] {
  const items: readonly Json[] = Array.isArray(input) ? input : [{ role: "user", content: input }]
  return items.filter(isObject).map((item, index) => {
    const type = typeof item.type === "string" ? item.type : "message"
    const generated = `${PREFIXES[type] ?? "item"}_${responseId.replace(/^resp_/, "")}_${index}`
    const id = typeof item.id === "string" && item.id !== "" ? item.id : generated
    const whole = type === "message" ? { status: "completed", ...item, content: contentOf(item) } : item
    return { ...whole, type, id }
  })
}

/** A plain text as a list of one part. */
function contentOf({ role, content }: JsonObject): Json {
  if (typeof content !== "string") return content ?? []
  if (role !== "assistant") return [{ type: "input_text", text: content }]
  return [{ type: "output_text", text: content, annotations: [], logprobs: [] }]
}
