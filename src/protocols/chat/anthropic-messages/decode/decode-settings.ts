// Decodes a request's settings. Members that are read only in part leave the rest in `left`.

import type { ChatSettings, OutputFormat, ReasoningSettings } from "../../../../canonical/chat/chat-request.ts"
import type { ReasoningEffort } from "../../../../canonical/chat/reasoning-effort.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { FieldClaim } from "../../../../canonical/passthrough-fields.ts"

interface BodyClaim {
  readonly held: FieldClaim
  readonly left: Record<string, Json>
}

export function decodeSettings(body: JsonObject, { held, left }: BodyClaim): ChatSettings {
  const number = (name: string): number | undefined => {
    if (typeof body[name] !== "number" && body[name] !== null) return undefined
    const value = held.take(name)
    return typeof value === "number" ? value : undefined
  }
  const endUser = readEndUser(body, { held, left })
  const settings = {
    maxOutputTokens: number("max_tokens"),
    temperature: number("temperature"),
    topP: number("top_p"),
    topK: number("top_k"),
    stop: readStop(body, held),
    ...readOutput(body, { held, left }),
    endUser,
  }
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
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

/** `output_config` has effort and format; `thinking` enables or disables reasoning. */
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
  // The older spelling passes through unchanged.
  const wanted = format ?? schemaFormat(body.output_format)
  return { ...(wanted && { format: wanted }), ...(reasoning && { reasoning }) }
}

function schemaFormat(value: Json | undefined): OutputFormat | undefined {
  if (!isObject(value) || value.type !== "json_schema" || value.schema === undefined) return undefined
  return Object.keys(value).length === 2 ? { kind: "schema", schema: value.schema } : undefined
}

/** Without a display setting, thinking is shown as the model produces it: `full`. */
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
  const reasoning: ReasoningSettings | undefined =
    type === "disabled" && lone && display === undefined
      ? { effort: "none" }
      : show && hasBudget
        ? { budgetTokens, show }
        : show && type === "adaptive" && lone
          ? { show }
          : undefined
  if (!reasoning) return undefined
  held.take("thinking")
  if (Object.keys(rest).length > 0) left.thinking = rest
  return reasoning
}
