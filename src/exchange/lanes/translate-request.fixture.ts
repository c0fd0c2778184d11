// Translates a client's request for a target, in tests.
import type { JsonObject } from "../../canonical/json.ts"
import type { Loss } from "../../canonical/loss.ts"
import { codecs } from "../../protocols.ts"
import { type TranslateTask, translateRequest } from "./translate-request.ts"

export interface TranslateOptions {
  readonly from: string
  readonly to: string
  readonly context?: Partial<TranslateTask["context"]>
}

/** A message of a translated body, as far as tests read it. */
interface TranslatedMessage {
  readonly role: string
  readonly content: string | readonly JsonObject[]
  readonly tool_calls?: readonly { readonly id: string }[]
  readonly tool_call_id?: string
}

/** The members of a translated body that tests read, of any protocol. */
export interface TranslatedBody {
  readonly messages?: readonly TranslatedMessage[]
  readonly input?: readonly JsonObject[]
  readonly tools?: readonly JsonObject[]
  readonly mcp_servers?: readonly JsonObject[]
  readonly generationConfig?: { readonly thinkingConfig?: { readonly includeThoughts?: boolean } }
}

const ANTHROPIC_HEADERS = { "anthropic-version": "2023-06-01" }

/** Throws where the request is refused. */
export function translateFor(
  body: JsonObject,
  { from, to, context }: TranslateOptions,
): { readonly body: TranslatedBody; readonly losses: readonly Loss[] } {
  const task: TranslateTask = {
    from,
    to,
    envelope: { does: "generate", rest: "models/a/b:generateContent", query: "", headers: ANTHROPIC_HEADERS },
    context: {
      ...{ model: "m", stream: false, streamUsage: "sent", minter: "minter", maxOutputTokens: 1000, reasons: true },
      ...context,
    },
    kept: { calls: new Map(), texts: new Map() },
  }
  const result = translateRequest(body, task, codecs)
  if ("wanted" in result) throw new Error("this request names media by its address")
  return { body: JSON.parse(result.body) as TranslatedBody, losses: result.losses }
}
