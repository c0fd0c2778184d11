// Remote MCP servers, as a tool of this protocol names one.

import type { RemoteServer } from "../../../../canonical/chat/chat-request.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"

const BEARER = /^Bearer\s+(.+)$/i

/**
 * The server of a tool of type `mcp`; undefined if another protocol cannot call it in the same way: its calls need the
 * caller's approval, it is a connector of the vendor, or it needs custom headers.
 */
export function remoteServerIn(tool: JsonObject): RemoteServer | undefined {
  const { server_label: label, server_url: url, authorization, headers, allowed_tools, require_approval } = tool
  if (typeof label !== "string" || typeof url !== "string" || require_approval !== "never") return undefined
  const token = typeof authorization === "string" ? authorization : bearerIn(headers)
  if (token === undefined && isObject(headers) && Object.keys(headers).length > 0) return undefined
  const allowedTools = toolNames(allowed_tools)
  if (allowed_tools != null && !allowedTools) return undefined
  return { label, url, ...(token !== undefined && { authorization: token }), ...(allowedTools && { allowedTools }) }
}

/** The bearer token, if the headers contain nothing else. */
function bearerIn(headers: Json | undefined): string | undefined {
  const [only, ...others] = isObject(headers) ? Object.entries(headers) : []
  if (!only || others.length > 0 || only[0].toLowerCase() !== "authorization") return undefined
  return typeof only[1] === "string" ? BEARER.exec(only[1])?.[1] : undefined
}

function toolNames(allowed: Json | undefined): string[] | undefined {
  const names = isObject(allowed) && Object.keys(allowed).length === 1 ? allowed.tool_names : allowed
  return Array.isArray(names) && names.every((name) => typeof name === "string") ? names : undefined
}

/** Other protocols call their servers without asking for approval. */
export function serverTool({ label, url, authorization, allowedTools }: RemoteServer): JsonObject {
  return {
    type: "mcp",
    server_label: serverLabel(label),
    server_url: url,
    require_approval: "never",
    ...(authorization !== undefined && { authorization }),
    ...(allowedTools && { allowed_tools: [...allowedTools] }),
  }
}

/** A label has letters, digits, dashes and underscores, and begins with a letter. */
export function serverLabel(label: string): string {
  const plain = label.replace(/[^A-Za-z0-9_-]/g, "_")
  return /^[A-Za-z]/.test(plain) ? plain : `s_${plain}`
}
