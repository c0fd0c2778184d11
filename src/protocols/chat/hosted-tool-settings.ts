// The settings of a provider-run tool other than its name, in any protocol.

import type { HostedTool } from "../../canonical/chat/chat-request.ts"
import { isObject, type JsonObject } from "../../canonical/json.ts"

/** Each setting's path is below the tool's own. Google's tools have theirs in the member that names the tool. */
export function hostedSettings({ value, name }: Pick<HostedTool, "value" | "name">): JsonObject {
  if (!isObject(value)) return {}
  const names = Object.keys(value)
  const held = names.length === 1 && names[0] === name ? (value[name] ?? null) : undefined
  if (held !== undefined) return isObject(held) ? held : {}
  const { type: _, name: __, ...settings } = value
  return settings
}
