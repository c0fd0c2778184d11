// The schema of an entry under `models`. An entry with the id of a bundled model changes the members it names.

import { nearestName, quoteName } from "../canonical/nearest-name.ts"
import { PRICE_PATTERN } from "../canonical/usd.ts"
import type { ModelSettings, PricingSettings, TargetSettings } from "./config.ts"
import type { ConfigNode } from "./config-document.ts"
import {
  boolean,
  type ConfigShape,
  choice,
  INVALID,
  integer,
  list,
  object,
  oneOf,
  optional,
  ParseProblem,
  required,
  text,
  withDefault,
} from "./config-shape.ts"
import { orVariable } from "./member-schema.ts"
import { decimal, line, modelAlias, modelId } from "./parse-values.ts"

interface ModelContext {
  /** Ids a target may name. */
  readonly providers: readonly string[]
  /** Ids of the bundled models. */
  readonly knownModels: readonly string[]
  /** The names that the file has used, with their positions. */
  readonly taken: Map<string, string>
}

export function modelSchema({ providers, knownModels, taken }: ModelContext): ConfigShape<ModelSettings> {
  const bundled = new Set(knownModels)
  const alias = text((name) => {
    return bundled.has(name) ? new ParseProblem(`${quoteName(name)} is the id of a bundled model`) : modelAlias(name)
  })
  const tokens = optional(integer({ min: 1 }))
  return object(
    {
      id: required(uniqueName(text(modelId), taken)),
      aliases: optional(list(uniqueName(alias, taken))),
      kind: optional(choice("chat", "embedding", "image", "moderation")),
      display_name: optional(text(line)),
      version: optional(text(line)),
      context_window: tokens,
      max_input_tokens: tokens,
      max_output_tokens: tokens,
      modalities: optional(object({ input: required(list(modality)), output: required(list(modality)) })),
      capabilities: optional(
        list(choice("tools", "json_schema", "reasoning", "prompt_caching", "web_search", "computer_use")),
      ),
      reasoning: optional(boolean()),
      efforts: optional(list(choice("none", "minimal", "low", "medium", "high", "xhigh", "max"), { atLeast: 1 })),
      thinking_tokens: optional(object({ min: optional(integer({ min: 0 })), max: optional(integer({ min: 1 })) })),
      fixed_sampling: optional(boolean()),
      quality: optional(integer({ min: 0, max: 100 })),
      pricing: optional(pricing),
      targets: optional(list(targetSchema(providers), { atLeast: 1 })),
    },
    ({ id, contextWindow, maxOutputTokens = 0 }, node) => {
      if (!node.has("targets") && !bundled.has(id ?? "")) node.reportName(describeMissingTargets(id, knownModels))
      if (contextWindow !== undefined && maxOutputTokens > contextWindow)
        node.reportName(`"max_output_tokens" is more than "context_window"`)
    },
  )
}

const modality = choice("text", "image", "audio", "video", "pdf", "embedding")

function targetSchema(providers: readonly string[]): ConfigShape<TargetSettings> {
  return object({
    provider: required(text(oneOf("provider", providers))),
    model: required(text(line)),
    priority: withDefault(integer({ min: 0 }), 1),
    weight: withDefault(integer({ min: 1 }), 1),
    pricing: optional(pricing),
    precision: optional(choice("fp32", "bf16", "fp16", "fp8", "int8", "fp6", "fp4", "int4")),
  })
}

const decimalText = text(decimal, orVariable({ type: "string", pattern: PRICE_PATTERN.source }))
const price: ConfigShape<string> = {
  jsonSchema: decimalText.jsonSchema,
  read(node) {
    if (node.content().kind !== "number") return decimalText.read(node)
    node.report('put prices in quotes, such as "0.50": a number without them is a binary fraction and loses cents')
    return INVALID
  },
}

const prices = {
  input: optional(price),
  output: optional(price),
  cache_read: optional(price),
  cache_write: optional(price),
  cache_write_1h: optional(price),
  reasoning: optional(price),
  audio_input: optional(price),
  audio_output: optional(price),
  image_input: optional(price),
  image_output: optional(price),
  per_image: optional(price),
  per_request: optional(price),
}

const tier = object({ above_input_tokens: required(integer({ min: 1 })), ...prices })

const pricing: ConfigShape<PricingSettings> = object(
  { ...prices, tiers: optional(list(tier)) },
  ({ tiers = [] }, node) => {
    if (!Object.keys(prices).some((name) => node.has(name))) node.reportName("expected at least one price")
    const ascends = tiers.every((each, at) => each.aboveInputTokens > (tiers[at - 1]?.aboveInputTokens ?? 0))
    if (!ascends) node.reportName('the tier with the smallest "above_input_tokens" comes first')
  },
)

function describeMissingTargets(id: string | undefined, knownModels: readonly string[]): string {
  const missing = 'the member "targets" is missing'
  const nearest = id === undefined ? undefined : nearestName(id, knownModels)
  return nearest === undefined ? missing : `${missing}; or did you mean the bundled model ${quoteName(nearest)}?`
}

/** A name that must be unique among all that share `taken`. */
export function uniqueName(shape: ConfigShape<string>, taken: Map<string, string>): ConfigShape<string> {
  return {
    jsonSchema: shape.jsonSchema,
    read(node: ConfigNode) {
      const name = shape.read(node)
      if (typeof name !== "string") return name
      const earlier = taken.get(name)
      if (earlier !== undefined) node.report(`${quoteName(name)} is taken by ${earlier}`)
      else taken.set(name, node.path)
      return name
    },
  }
}
