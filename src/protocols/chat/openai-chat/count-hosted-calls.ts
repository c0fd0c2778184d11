// Counts searches as hosts report them: by counts in the usage, or by citations in the response.
import type { HostedCallCounter } from "../../../canonical/hosted-calls.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { readCountDetails, readTokenCount } from "../../usage/token-counts.ts"

export function countHostedCalls(): HostedCallCounter {
  let counted = 0
  let cites = false
  return {
    see(payload) {
      const { usage, choices } = payload as JsonObject
      if (isObject(usage)) counted = countIn(usage) ?? counted
      cites ||= Array.isArray(choices) && choices.some(citesPages)
    },
    get calls() {
      const searches = Math.max(counted, cites ? 1 : 0)
      return searches > 0 ? { web_search: searches } : {}
    },
  }
}

/** OpenRouter's count, or xAI's. */
function countIn(usage: JsonObject): number | undefined {
  const reported = readTokenCount(readCountDetails(usage, "server_tool_use"), "web_search_requests")
  const tools = readCountDetails(usage, "server_side_tool_usage_details")
  const [pages, posts] = [readTokenCount(tools, "web_search_calls"), readTokenCount(tools, "x_search_calls")]
  return reported ?? (pages === undefined && posts === undefined ? undefined : (pages ?? 0) + (posts ?? 0))
}

function citesPages(choice: Json): boolean {
  const message = isObject(choice) ? (choice.message ?? choice.delta) : undefined
  const annotations = isObject(message) ? message.annotations : undefined
  return Array.isArray(annotations) && annotations.some((each) => isObject(each) && each.type === "url_citation")
}
