// A messages request in canonical words. Its `extra` is always there, if empty: it says whose words these were.

import type {
  ChatRequest,
  ChatSettings,
  ConversationTurn,
  OutputFormat,
  ReasoningSettings,
} from "../../../../canonical/chat/chat-request.ts"
import type { ContentPart, ToolCallPart } from "../../../../canonical/chat/content-part.ts"
import type { ReasoningEffort } from "../../../../canonical/chat/reasoning-effort.ts"
import type { SealedContent } from "../../../../canonical/chat/sealed-content.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { claimFields, type FieldClaim } from "../../../../canonical/passthrough-fields.ts"
import { runFieldChecks } from "../../../field-checks.ts"
import { takeRouting } from "../../../gateway-extension.ts"
import { type AnthropicPassthrough, PROTOCOL } from "../passthrough-fields.ts"
import { decodeServers } from "../remote-servers.ts"
import { openCallSeal } from "../seals.ts"
import { decodeBlock, decodeContent } from "./decode-part.ts"
import { decodeToolChoice, decodeTools } from "./decode-tools.ts"

export function decodeRequest(body: JsonObject): ChatRequest {
  const held = claimFields(body)
  /** Of members that were taken in part, the rest. */
  const left: Record<string, Json> = {}
  const model = held.take("model")
  const instructions = decodeInstructions(body.system)
  if (instructions) held.take("system")
  const choice = decodeToolChoice(body.tool_choice)
  if (choice || body.tool_choice === null) held.take("tool_choice")
  if (choice?.left) left.tool_choice = choice.left
  const settings = {
    ...decodeSettings(body, { held, left }),
    ...(choice?.parallelToolCalls !== undefined && { parallelToolCalls: choice.parallelToolCalls }),
  }
  const servers = decodeServers(body.mcp_servers)
  if (servers) held.take("mcp_servers")
  const request = {
    model: typeof model === "string" ? model : "",
    instructions: instructions ?? [],
    turns: decodeTurns(held.take("messages")),
    tools: decodeTools(held.take("tools"), servers),
    ...(choice?.toolChoice && { toolChoice: choice.toolChoice }),
    settings,
    stream: held.take("stream") === true,
    routing: runFieldChecks(() => takeRouting((name) => held.take(name))),
  }
  const members = { ...held.rest(PROTOCOL)?.members, ...left }
  const extra: AnthropicPassthrough = {
    protocol: PROTOCOL,
    members,
    ...(servers && { servers: body.mcp_servers ?? null }),
  }
  return { ...request, extra }
}

function decodeInstructions(system: Json | undefined): ContentPart[] | undefined {
  if (system === null) return []
  if (typeof system === "string") return [{ kind: "text", at: "system", text: system }]
  if (!Array.isArray(system)) return undefined
  return system.map((block: Json, index) => decodeBlock(block, { at: `system[${index}]` }))
}

const ROLES = new Map<Json | undefined, ConversationTurn["role"]>([
  ["user", "user"],
  ["assistant", "assistant"],
  ["system", "instruction"],
])

function decodeTurns(messages: Json | undefined): ConversationTurn[] {
  if (!Array.isArray(messages)) return []
  return messages.flatMap((message: Json, index) => (isObject(message) ? [decodeTurn(message, index)] : []))
}

function decodeTurn(message: JsonObject, index: number): ConversationTurn {
  const at = `messages[${index}]`
  const held = claimFields(message)
  const role = ROLES.get(held.take("role")) ?? "user"
  const parts = decodeContent(held.take("content"), { at }) ?? []
  const extra = held.rest(PROTOCOL)
  return { at, role, parts: withCallSeals(parts), ...(extra && { extra }) }
}

/** Seals of calls stand in blocks of their own here; back they go onto their calls. */
function withCallSeals(parts: readonly ContentPart[]): readonly ContentPart[] {
  const seals = new Map<string, SealedContent>()
  const others = parts.filter((part) => {
    const found = part.kind === "reasoning" && part.sealed ? openCallSeal(part.sealed) : undefined
    if (found) seals.set(found.callId, found.sealed)
    return !found
  })
  if (seals.size === 0) return parts
  return others.map((part) => (part.kind === "tool-call" ? sealedCall(part, seals.get(part.id)) : part))
}

function sealedCall(part: ToolCallPart, sealed: SealedContent | undefined): ToolCallPart {
  return sealed ? { ...part, sealed } : part
}

interface BodyClaim {
  readonly held: FieldClaim
  readonly left: Record<string, Json>
}

function decodeSettings(body: JsonObject, { held, left }: BodyClaim): ChatSettings {
  const number = (name: string): number | undefined => {
    if (typeof body[name] !== "number" && body[name] !== null) return undefined
    const value = held.take(name)
    return typeof value === "number" ? value : undefined
  }
  const endUser = readEndUser(body, { held, left })
  const said = {
    maxOutputTokens: number("max_tokens"),
    temperature: number("temperature"),
    topP: number("top_p"),
    topK: number("top_k"),
    stop: readStop(body, held),
    ...readOutput(body, { held, left }),
    endUser,
  }
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))
}

function readStop({ stop_sequences: stop }: JsonObject, held: FieldClaim): string[] | undefined {
  if (stop === null) held.take("stop_sequences")
  if (!Array.isArray(stop) || !stop.every((each) => typeof each === "string")) return undefined
  held.take("stop_sequences")
  return stop
}

function readEndUser({ metadata }: JsonObject, { held, left }: BodyClaim): string | undefined {
  if (!isObject(metadata) || typeof metadata.user_id !== "string") return undefined
  held.take("metadata")
  const { user_id, ...rest } = metadata
  if (Object.keys(rest).length > 0) left.metadata = rest
  return user_id as string
}

const EFFORTS: ReadonlySet<Json | undefined> = new Set<ReasoningEffort>(["low", "medium", "high", "xhigh", "max"])

/** How hard to think and what form to answer in stand in one member, whether to think at all in another. */
function readOutput(body: JsonObject, { held, left }: BodyClaim): Pick<ChatSettings, "format" | "reasoning"> {
  const thinking = readThinking(body, { held, left })
  const config = isObject(body.output_config) ? body.output_config : {}
  const effort =
    EFFORTS.has(config.effort) && thinking?.effort !== "none" ? (config.effort as ReasoningEffort) : undefined
  const format = schemaFormat(config.format)
  if (effort || format) {
    held.take("output_config")
    const { effort: one, format: other, ...rest } = config
    const unread = { ...(!effort && one !== undefined && { effort: one }), ...(!format && other && { format: other }) }
    const kept = { ...rest, ...unread }
    if (Object.keys(kept).length > 0) left.output_config = kept
  }
  const reasoning = thinking || effort ? { ...thinking, ...(effort && { effort }) } : undefined
  // The older spelling goes back as it came.
  const wanted = format ?? schemaFormat(body.output_format)
  return { ...(wanted && { format: wanted }), ...(reasoning && { reasoning }) }
}

function schemaFormat(value: Json | undefined): OutputFormat | undefined {
  if (!isObject(value) || value.type !== "json_schema" || value.schema === undefined) return undefined
  return Object.keys(value).length === 2 ? { kind: "schema", schema: value.schema } : undefined
}

/** Thinking without a word on how it is shown is shown as the model has it: `full`. */
const SHOWS = new Map<Json | undefined, NonNullable<ReasoningSettings["show"]>>([
  [undefined, "full"],
  [null, "full"],
  ["summarized", "summary"],
  ["omitted", "hidden"],
])

function readThinking({ thinking }: JsonObject, { held, left }: BodyClaim): ReasoningSettings | undefined {
  if (!isObject(thinking)) return undefined
  const { type, budget_tokens: budgetTokens, display, ...rest } = thinking
  const show = SHOWS.get(display)
  const hasBudget = type === "enabled" && typeof budgetTokens === "number"
  const lone = budgetTokens === undefined
  const wish: ReasoningSettings | undefined =
    type === "disabled" && lone && display === undefined
      ? { effort: "none" }
      : show && hasBudget
        ? { budgetTokens, show }
        : show && type === "adaptive" && lone
          ? { show }
          : undefined
  if (!wish) return undefined
  held.take("thinking")
  if (Object.keys(rest).length > 0) left.thinking = rest
  return wish
}
