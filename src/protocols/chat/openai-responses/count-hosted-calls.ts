// The vendor's own tools, as items of a response's output.
import type { BilledTool, HostedCallCounter } from "../../../canonical/hosted-calls.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"

const TOOLS: Readonly<Record<string, BilledTool>> = {
  web_search_call: "web_search",
  file_search_call: "file_search",
  image_generation_call: "image_generation",
}

/** A whole response has its output; a stream reports each item when it is done. */
export function countHostedCalls(): HostedCallCounter {
  const counts = new Map<BilledTool, number>()
  const containers = new Set<Json>()
  const seeItem = (item: Json) => {
    if (!isObject(item)) return
    if (item.type === "code_interpreter_call") containers.add(item.container_id ?? "")
    const tool = typeof item.type === "string" ? TOOLS[item.type] : undefined
    if (tool && isBilled(item)) counts.set(tool, (counts.get(tool) ?? 0) + 1)
  }
  return {
    see(payload) {
      const { type, item, output } = payload as JsonObject
      if (type === "response.output_item.done") seeItem(item ?? null)
      else if (Array.isArray(output)) output.forEach(seeItem)
    },
    get calls() {
      return { ...Object.fromEntries(counts), ...(containers.size > 0 && { code_session: containers.size }) }
    },
  }
}

/** A search is billed; opening a page that it found, and looking into it, are not. */
function isBilled({ action }: JsonObject): boolean {
  return !isObject(action) || action.type === undefined || action.type === "search"
}
