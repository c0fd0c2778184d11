// Token counting in this protocol: the upstream request and the client response.
import { isObject, type JsonObject } from "../../../canonical/json.ts"
import { asciiJson, spliceJson } from "../../../transport/json/json-splice.ts"
import type { TokenCountCodec } from "../../chat-codec.ts"
import { NO_HEADERS } from "../../gateway-extension.ts"
import { readTokenNumber } from "../counted-members.ts"
import { pathOf, WRAPPERS } from "./read-request.ts"

const COUNT = "countTokens"

export const counter: TokenCountCodec = {
  errand: (model) => ({ operation: COUNT, path: pathOf(COUNT, { model, stream: false }), headers: NO_HEADERS }),
  encodeCountRequest(text, model) {
    const request = spliceJson(text, [{ path: ["model"], set: asciiJson(`models/${model}`) }])
    return `{"${WRAPPERS[0]}":${request}}`
  },
  decodeCount: ({ totalTokens }) => readTokenNumber(totalTokens),
}

export function encodeCount(tokens: number): JsonObject {
  return { totalTokens: tokens }
}

/** The request that is to be counted, however it is sent. */
export function countedRequest(body: JsonObject): JsonObject {
  const inner = WRAPPERS.map((name) => body[name]).find(isObject)
  return inner ? { ...inner, provider: body.provider ?? null } : body
}
