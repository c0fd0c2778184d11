// Anthropic's own client library, as the suites use it: its newest version, which sends the key as a bearer, and the
// last of the line before, which sends it in a header of its own.
import Anthropic from "@anthropic-ai/sdk"
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema"
import { jsonSchemaOutputFormat } from "@anthropic-ai/sdk/helpers/json-schema"
import Anthropic0 from "anthropic0"
import { betaTool as betaTool0 } from "anthropic0/helpers/beta/json-schema"
import { jsonSchemaOutputFormat as jsonSchemaOutputFormat0 } from "anthropic0/helpers/json-schema"

interface AnthropicVersion {
  readonly name: string
  readonly Anthropic: typeof Anthropic
  readonly betaTool: typeof betaTool
  readonly jsonSchemaOutputFormat: typeof jsonSchemaOutputFormat
  /** The header this version puts the key in, and what it writes there. */
  readonly keyHeader: (key: string) => Readonly<Record<string, string>>
  readonly apiVersion: string
}

export const ANTHROPIC_VERSIONS: readonly AnthropicVersion[] = [
  {
    name: "anthropic 1",
    Anthropic,
    betaTool,
    jsonSchemaOutputFormat,
    keyHeader: (key) => ({ authorization: `Bearer ${key}` }),
    apiVersion: "2026-10-21",
  },
  {
    name: "anthropic 0",
    // Its types differ in what the suites do not use.
    Anthropic: Anthropic0 as unknown as typeof Anthropic,
    betaTool: betaTool0 as unknown as typeof betaTool,
    jsonSchemaOutputFormat: jsonSchemaOutputFormat0 as unknown as typeof jsonSchemaOutputFormat,
    keyHeader: (key) => ({ "x-api-key": key }),
    apiVersion: "2023-06-01",
  },
]

export type MessageParams = Anthropic.MessageCreateParamsNonStreaming

/** A small request for this model. */
export function hello(model: string, content: MessageParams["messages"][0]["content"] = "hi"): MessageParams {
  return { model, max_tokens: 200, messages: [{ role: "user", content }] }
}

/** The text of all text blocks. */
export function textOf(message: { readonly content: readonly { type: string; text?: string }[] }): string {
  return message.content.map(({ text = "" }) => text).join("")
}
