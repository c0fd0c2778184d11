// A client's request as a target is sent it, for tests.
import type { JsonObject } from "../../canonical/json.ts"
import type { Loss } from "../../canonical/loss.ts"
import { codecs } from "../../protocols.ts"
import { type TranslateTask, translateRequest } from "./translate-request.ts"

export interface TranslateOptions {
  readonly from: string
  readonly to: string
  readonly context?: Partial<TranslateTask["context"]>
}

const ANTHROPIC_HEADERS = { "anthropic-version": "2023-06-01" }

/** Throws where the request is refused. */
export function translateFor(
  body: JsonObject,
  { from, to, context }: TranslateOptions,
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
): { readonly body: any; readonly losses: readonly Loss[] } {
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
  return { body: JSON.parse(result.body), losses: result.losses }
}
