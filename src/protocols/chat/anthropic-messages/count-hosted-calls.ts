// The vendor's own tools, as a message's usage counts them.
import type { HostedCallCounter } from "../../../canonical/hosted-calls.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { readTokenCount } from "../../usage/token-counts.ts"

/** Each count covers the whole message so far, so the latest one is used. */
export function countHostedCalls(): HostedCallCounter {
  let searches = 0
  let hasContainer = false
  return {
    see(payload) {
      const { message, delta, usage } = payload as JsonObject
      const used = serverTools(usage) ?? serverTools(isObject(message) ? message.usage : undefined)
      searches = (used && readTokenCount(used, "web_search_requests")) ?? searches
      hasContainer ||= isObject(payload.container) || (isObject(delta) && isObject(delta.container))
    },
    get calls() {
      return { ...(searches > 0 && { web_search: searches }), ...(hasContainer && { code_session: 1 }) }
    },
  }
}

function serverTools(usage: Json | undefined): JsonObject | undefined {
  const used = isObject(usage) ? usage.server_tool_use : undefined
  return isObject(used) ? used : undefined
}
