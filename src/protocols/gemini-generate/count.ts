// How tokens are counted in this protocol: what an upstream is asked, and what a client is told.
import { isObject, type JsonObject } from "../../canonical/json.ts"
import { asciiJson, splice } from "../../transport/json-splice.ts"
import type { Counter } from "../codec.ts"
import { tokenNumber } from "../count-members.ts"
import { NO_HEADERS } from "../extension.ts"
import { pathOf, WRAPPERS } from "./request.ts"

const COUNT = "countTokens"

export const counter: Counter = {
  errand: (model) => ({ operation: COUNT, path: pathOf(COUNT, { model, stream: false }), headers: NO_HEADERS }),
  ask(text, model) {
    const request = splice(text, [{ path: ["model"], set: asciiJson(`models/${model}`) }])
    return `{"${WRAPPERS[0]}":${request}}`
  },
  decodeCount: ({ totalTokens }) => tokenNumber(totalTokens),
}

export function encodeCount(tokens: number): JsonObject {
  return { totalTokens: tokens }
}

/** The request that is to be counted, however it is sent. */
export function countedRequest(body: JsonObject): JsonObject {
  const inner = WRAPPERS.map((name) => body[name]).find(isObject)
  return inner ? { ...inner, provider: body.provider ?? null } : body
}
