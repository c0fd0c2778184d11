// Encodes tools and the choice among them: all functions in one entry, the vendor's own tools in others.

import type {
  ChatRequest,
  CustomTool,
  FunctionTool,
  HostedTool,
  ToolChoice,
  ToolDefinition,
} from "../../../../canonical/chat/chat-request.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../../../../canonical/json.ts"
import type { Loss } from "../../../../canonical/loss.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import { hostedSettings } from "../../hosted-tool-settings.ts"
import { projectSchema } from "../gemini-schema.ts"
import { type GeminiDraft, isNative, PROTOCOL, reportForeignFields, restorePassthrough } from "../passthrough-fields.ts"
import { droppedKeywords } from "./encode-settings.ts"
import { generationOf } from "./model-generation.ts"

/** The vendor's own tools, by kind. */
const OWN: Partial<Record<HostedTool["purpose"], string>> = {
  "web-search": "googleSearch",
  "web-fetch": "urlContext",
  code: "codeExecution",
}

export interface GeminiTools {
  readonly tools: readonly JsonObject[]
  readonly toolConfig: JsonObject
}

export function encodeTools(request: ChatRequest, context: UpstreamRequestContext): GeminiTools {
  const encoder = new GeminiToolEncoder(request, context)
  for (const [index, tool] of request.tools.entries()) encoder.add(tool, tool.at ?? `tools[${index}]`)
  return encoder.encode()
}

class GeminiToolEncoder {
  /** By the entry of the request, if it came in this protocol. */
  private readonly entries = new Map<string, GeminiDraft>()
  private readonly functions: Set<string>
  private mixed = false

  constructor(
    private readonly request: ChatRequest,
    private readonly context: UpstreamRequestContext,
  ) {
    this.functions = new Set(request.tools.filter(({ kind }) => kind !== "hosted").map(({ name }) => name))
  }

  add(tool: ToolDefinition, at: string): void {
    if (tool.cacheMark) this.lose(`${at}.cache_control`, "Gemini decides on its own what it caches.")
    reportForeignFields(tool.extra, { at, losses: this.context.losses })
    if (tool.kind === "hosted") this.addHosted(tool, at)
    else
      this.declare(
        restorePassthrough(tool.kind === "function" ? this.functionOf(tool, at) : this.customOf(tool, at), tool.extra),
        at,
      )
  }

  encode(): GeminiTools {
    const calling = this.choice(this.request.toolChoice)
    return {
      tools: [...this.entries.values()],
      toolConfig: {
        ...(calling && { functionCallingConfig: calling }),
        ...(this.mixed && { includeServerSideToolInvocations: true }),
      },
    }
  }

  private declare(declaration: JsonObject, at: string): void {
    const entry = this.entry(nativeEntry(at) ?? "functions")
    const declared = entry.functionDeclarations
    entry.functionDeclarations = [...(Array.isArray(declared) ? declared : []), declaration]
  }

  private entry(key: string): GeminiDraft {
    const entry = this.entries.get(key) ?? {}
    this.entries.set(key, entry)
    return entry
  }

  private functionOf(tool: FunctionTool, at: string): JsonObject {
    const { name, description, parameters, strict } = tool
    if (strict === true) this.lose(`${at}.strict`, "Gemini has no strict functions.")
    const schema = parameters === undefined || nativeEntry(at) ? parameters : this.schema(parameters, at)
    return {
      name,
      ...(description !== undefined && { description }),
      ...(schema !== undefined && { parametersJsonSchema: schema }),
    }
  }

  private schema(parameters: Json, at: string): Json {
    const { schema, dropped } = projectSchema(parameters)
    if (dropped.length > 0) this.context.losses.push(droppedKeywords(`${at}.parameters`, dropped))
    return schema
  }

  private customOf({ name, description, format }: CustomTool, at: string): JsonObject {
    if (format !== undefined && !(isObject(format) && format.type === "text")) {
      this.lose(`${at}.format`, "Gemini's functions have no grammar.", "meaning")
    }
    const input = { type: "object", properties: { input: { type: "string" } }, required: ["input"] }
    return { name, ...(description !== undefined && { description }), parametersJsonSchema: input }
  }

  private addHosted(tool: HostedTool, at: string): void {
    if (tool.protocol === PROTOCOL) {
      const key = /^tools\[\d+\]/.exec(at)?.[0] ?? at
      if (isObject(tool.value)) this.entries.set(key, { ...this.entry(key), ...tool.value })
      return
    }
    const own = OWN[tool.purpose]
    const alone = this.functions.size === 0
    if (own === undefined) this.dropHosted(tool, { at, why: "Gemini has no equivalent tool." })
    else if (!alone && !generationOf(this.context.model).mixesTools) {
      this.dropHosted(tool, { at, why: "This model does not combine built-in tools with functions." })
    } else this.mapHosted(tool, { at, own })
  }

  private mapHosted(tool: HostedTool, { at, own }: { at: string; own: string }): void {
    this.mixed ||= this.functions.size > 0
    if (Object.keys(hostedSettings(tool)).length > 0)
      this.lose(at, `Gemini's ${own} is used with its default settings.`, "hint", "approximated")
    this.entry(own)[own] = {}
  }

  private dropHosted({ name, purpose }: HostedTool, { at, why }: { at: string; why: string }): void {
    const choice = this.request.toolChoice
    if (choice?.mode === "tool" && (choice.name === name || choice.name === purpose)) throw forcedToolMissing(name)
    this.lose(at, why, "meaning")
  }

  private choice(choice: ToolChoice | undefined): JsonObject | undefined {
    if (!choice) return undefined
    if (this.functions.size === 0 && !isNative(this.request.turns[0]?.at)) return this.noFunctions(choice)
    if (choice.mode === "tool") return this.only([choice.name], "ANY")
    if (choice.mode === "some") return this.only(choice.names, choice.required ? "ANY" : "VALIDATED")
    return { mode: { auto: "AUTO", none: "NONE", required: "ANY" }[choice.mode] }
  }

  /** The vendor refuses a choice without functions. */
  private noFunctions(choice: ToolChoice): undefined {
    const [hosted] = this.request.tools
    const forces = choice.mode === "required" || choice.mode === "tool" || (choice.mode === "some" && choice.required)
    if (hosted && forces) throw forcedToolMissing(hosted.name)
    return undefined
  }

  private only(names: readonly string[], mode: "ANY" | "VALIDATED"): JsonObject {
    const known = names.filter((name) => this.functions.has(name))
    const [other] = names.filter((name) => !this.functions.has(name))
    // The vendor reports an undeclared tool to the caller.
    if (other === undefined || !this.request.tools.some((tool) => tool.kind === "hosted" && tool.name === other)) {
      return { mode, allowedFunctionNames: names }
    }
    if (known.length === 0) throw forcedToolMissing(other)
    this.lose("toolChoice", "Gemini's built-in tools cannot be chosen by `tool_choice`.", "meaning", "approximated")
    return { mode, allowedFunctionNames: known }
  }

  private lose(path: string, why: string, weight: Loss["weight"] = "hint", how: Loss["how"] = "dropped"): void {
    this.context.losses.push({ path, weight, how, why })
  }
}

function nativeEntry(at: string): string | undefined {
  return /^(tools\[\d+\])\.function_?declarations\[/i.exec(at)?.[1]
}

function forcedToolMissing(name: string): GatewayError {
  const message = `The tool \`${name}\` is run by another provider, and this model cannot be forced to call it. Choose another tool or model.`
  return new GatewayError("unsupported_parameter", message, { param: "tool_choice" })
}
