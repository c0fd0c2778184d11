// Remote MCP servers: this protocol lists them in `mcp_servers`; a toolset, or in the older form the list itself, names
// the tools that may be called.

import type {
  ChatRequest,
  HostedTool,
  RemoteServer,
  ToolChoice,
  ToolDefinition,
} from "../../../canonical/chat/chat-request.ts"
import { GatewayError } from "../../../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import type { Losses } from "../../../canonical/loss.ts"
import { dropped } from "../../losses.ts"
import { isOwn, PROTOCOL } from "./passthrough-fields.ts"

const MEMBERS = ["type", "url", "name", "authorization_token", "tool_configuration"]

/** The servers by name, with their paths; undefined if one has an unknown form. */
export function decodeServers(value: Json | undefined): Map<string, ListedServer> | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  const servers = new Map<string, ListedServer>()
  for (const [index, entry] of value.entries()) {
    const server = isObject(entry) ? listedServer(entry) : undefined
    if (!server) return undefined
    servers.set(server.label, { ...server, at: `mcp_servers[${index}]` })
  }
  return servers
}

interface ListedServer extends RemoteServer {
  readonly at: string
  readonly isOff?: boolean
}

function listedServer(entry: JsonObject): Omit<ListedServer, "at"> | undefined {
  const { type, url, name: label, authorization_token: authorization, tool_configuration: tools } = entry
  if (type !== "url" || typeof url !== "string" || typeof label !== "string") return undefined
  if (Object.keys(entry).some((name) => !MEMBERS.includes(name))) return undefined
  const { enabled, allowed_tools: allowed } = isObject(tools) ? tools : {}
  return {
    label,
    url,
    ...(typeof authorization === "string" && { authorization }),
    ...(Array.isArray(allowed) && { allowedTools: allowed.filter((name) => typeof name === "string") }),
    ...(enabled === false && { isOff: true }),
  }
}

/** A request's tools with their servers, followed by servers without a toolset. */
export function withServers(
  tools: readonly ToolDefinition[],
  servers: ReadonlyMap<string, ListedServer>,
): ToolDefinition[] {
  const named = new Set<string>()
  const joined = tools.map((tool) => {
    const set = tool.kind === "hosted" && isObject(tool.value) && tool.value.type === "mcp_toolset" ? tool.value : {}
    const server = typeof set.mcp_server_name === "string" ? servers.get(set.mcp_server_name) : undefined
    if (!server || tool.kind !== "hosted") return tool
    named.add(server.label)
    return { ...tool, purpose: "mcp" as const, server: narrowToToolset(server, set) }
  })
  const others = [...servers.values()].filter(({ label, isOff }) => !named.has(label) && !isOff)
  return [...joined, ...others.map(({ at, isOff: _, ...server }) => listedServerTool(server, at))]
}

/** A server without a toolset. */
function listedServerTool(server: RemoteServer, at: string): HostedTool {
  return { kind: "hosted", at, name: server.label, purpose: "mcp", protocol: PROTOCOL, value: null, server }
}

/** Only the tools that a toolset enables, if it disables all others. */
function narrowToToolset(
  { at: _, isOff: __, ...server }: ListedServer,
  { default_config, configs }: JsonObject,
): RemoteServer {
  if (!isObject(default_config) || default_config.enabled !== false) return server
  const chosen = isObject(configs) ? Object.entries(configs) : []
  return { ...server, allowedTools: chosen.flatMap(([name, config]) => (isOn(config) ? [name] : [])) }
}

function isOn(config: Json): boolean {
  return isObject(config) && config.enabled !== false
}

/** In the older form, which needs no toolset. */
export function listEntry({ label, url, authorization, allowedTools }: RemoteServer): JsonObject {
  return {
    type: "url",
    url,
    name: label,
    ...(authorization !== undefined && { authorization_token: authorization }),
    ...(allowedTools && { tool_configuration: { enabled: true, allowed_tools: [...allowedTools] } }),
  }
}

/** A request for a host that calls no remote servers: they are left out, unless one of their tools must be called. */
export function withoutServers(request: ChatRequest, losses: Losses): ChatRequest {
  const { tools, toolChoice, extra } = request
  const kept = tools.filter((tool) => !isServer(tool))
  const { mcp_servers: listed, ...members } = isOwn(extra) ? extra.members : {}
  if (kept.length === tools.length && listed === undefined) return request
  if (toolChoice) refuseForced(toolChoice, kept)
  const paths = tools.filter(isServer).map(({ at = "tools" }) => at)
  if (listed !== undefined) paths.push("mcp_servers")
  for (const path of paths) losses.push(dropped.meaning(path, "this model's provider does not call remote servers"))
  return { ...request, tools: kept, ...(isOwn(extra) && { extra: { protocol: PROTOCOL, members } }) }
}

function isServer(tool: ToolDefinition): boolean {
  if (tool.kind !== "hosted") return false
  return (
    tool.purpose === "mcp" || tool.server !== undefined || (isObject(tool.value) && tool.value.type === "mcp_toolset")
  )
}

function refuseForced(choice: ToolChoice, kept: readonly ToolDefinition[]): void {
  const has = (name: string) => kept.some((tool) => tool.name === name)
  const isMet =
    choice.mode === "tool"
      ? has(choice.name)
      : choice.mode === "some"
        ? !choice.required || choice.names.some(has)
        : choice.mode !== "required" || kept.length > 0
  if (isMet) return
  const message =
    "`tool_choice` demands a remote server's tool, and this model's provider calls none. Choose another tool or model."
  throw new GatewayError("unsupported_parameter", message, { param: "tool_choice" })
}
