// Namespaces of tools, which other protocols lack: their tools get one name made of both.
import type { ToolDefinition } from "../../../../canonical/chat/chat-request.ts"
import { type ToolNamespace, writingOf } from "../passthrough-fields.ts"

const BETWEEN = "__"

/** The single name of a namespaced tool. */
export function flatName(namespace: string, name: string): string {
  return namespace.endsWith(BETWEEN) ? namespace + name : namespace + BETWEEN + name
}

export function namespaceOf(tool: ToolDefinition | undefined): ToolNamespace | undefined {
  return writingOf(tool?.extra).namespace
}

/** The name of a tool for callers of this protocol. */
export function namesOf(
  tool: ToolDefinition | undefined,
  name: string,
): { readonly name: string; readonly namespace?: string } {
  const set = namespaceOf(tool)
  return set ? { name: set.inner, namespace: set.name } : { name }
}
