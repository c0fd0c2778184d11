// Encodes the output format, by what the model enforces: the interface, a tool that must be called, or the prompt.

import type { ChatRequest, OutputFormat } from "../../../../canonical/chat/chat-request.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import { approximated, dropped } from "../../../losses.ts"
import { resolveReference, strictSchema, toolSchema } from "../../../schema/tool-schema.ts"
import { ANSWER_DESCRIPTION, ANSWER_TOOL } from "../answer-tool.ts"
import type { BedrockEncodeContext } from "./encode-context.ts"
import { isForced } from "./encode-tools.ts"

export interface ConverseFormat {
  readonly outputConfig?: JsonObject
  /** The tool whose input is the response. */
  readonly answer?: JsonObject
  readonly instruction?: string
}

const ONLY = "and nothing else: no prose around it, no code fence."

interface FormatContext {
  /** True if the model reasons, which excludes a tool that must be called. */
  readonly thinks: boolean
  readonly encodeContext: BedrockEncodeContext
}

export function encodeFormat(request: ChatRequest, { thinks, encodeContext }: FormatContext): ConverseFormat {
  const { format } = request.settings
  const { losses, family } = encodeContext
  if (!format || format.kind === "text") return {}
  if (format.kind !== "schema") {
    losses.push(approximated.meaning("format", "JSON without a schema is requested in the prompt"))
    return { instruction: `Answer with one JSON object ${ONLY}` }
  }
  if (family.format === "config") return { outputConfig: encodeConfig(format, encodeContext) }
  if (format.name !== undefined)
    losses.push(dropped.hint("format.name", "this format has no name in the Converse protocol"))
  if (request.toolChoice && isForced(request.toolChoice)) {
    losses.push(dropped.hint("format", "a tool must be called, so the response has no text to format"))
    return {}
  }
  const takesTool = family.format === "tool" && !thinks && isObject(format.schema)
  const isFree = request.tools.every(({ name }) => name !== ANSWER_TOOL)
  if (takesTool && isFree && describesObject(format.schema)) return { answer: answerTool(format.schema, encodeContext) }
  losses.push(approximated.meaning("format.schema", "the schema is sent in the prompt and not enforced"))
  return { instruction: `Answer with JSON that fits this JSON Schema ${ONLY}\n${JSON.stringify(format.schema)}` }
}

type SchemaOutputFormat = Extract<OutputFormat, { kind: "schema" }>

function encodeConfig({ name, schema, strict }: SchemaOutputFormat, { losses }: BedrockEncodeContext): JsonObject {
  if (strict === false) losses.push(approximated.hint("format.strict", "the vendor always enforces the schema"))
  const fits = name !== undefined && /^[\w-]{1,64}$/.test(name)
  if (name !== undefined && !fits)
    losses.push(dropped.hint("format.name", "a name may contain only letters, digits, `_` and `-`"))
  const report = (path: string, keyword: string) => {
    const why = `the vendor does not enforce \`${keyword}\``
    losses.push(approximated.meaning(`format.schema${path}.${keyword}`, why))
  }
  const whole = strictSchema(isObject(schema) ? resolveReference(schema, schema) : schema, { report })
  const jsonSchema = { ...(fits && { name }), schema: JSON.stringify(whole) }
  return { textFormat: { type: "json_schema", structure: { jsonSchema } } }
}

function describesObject(schema: Json): boolean {
  if (!isObject(schema)) return false
  const { type, properties } = resolveReference(schema, schema)
  return type === "object" || (type === undefined && isObject(properties))
}

function answerTool(schema: Json, { losses }: BedrockEncodeContext): JsonObject {
  losses.push(approximated.hint("format", "the response is requested as the input of a tool"))
  const report = (path: string, keyword: string) => {
    const why = `the vendor does not enforce \`${keyword}\` in tool input`
    losses.push(approximated.meaning(`format.schema${path}.${keyword}`, why))
  }
  const json = toolSchema(schema, report)
  return { toolSpec: { name: ANSWER_TOOL, description: ANSWER_DESCRIPTION, inputSchema: { json } } }
}
