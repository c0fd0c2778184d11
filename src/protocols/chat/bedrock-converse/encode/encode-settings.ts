// Encodes settings. Unsupported ones are dropped and reported, or refused if that would change the response visibly.

import type { ChatSettings } from "../../../../canonical/chat/chat-request.ts"
import { GatewayError } from "../../../../canonical/gateway-error.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import { approximated, dropped } from "../../../losses.ts"
import { fates } from "../fates.ts"
import type { BedrockEncodeContext } from "./encode-context.ts"
import type { ConverseThinking } from "./encode-reasoning-settings.ts"

export function encodeSettings(
  settings: ChatSettings,
  { thought, encodeContext }: { thought: ConverseThinking; encodeContext: BedrockEncodeContext },
) {
  refuseUnsupported(settings)
  dropHints(settings, encodeContext)
  const { stopSequences, paths } = encodeStop(settings, encodeContext)
  const { inference, fields } = encodeSampling(settings, { thought, encodeContext })
  const limit = maxTokens(settings, encodeContext) ?? thought.maxTokens
  const inferenceConfig = { ...(limit !== undefined && { maxTokens: limit }), ...inference, ...stopSequences }
  const additional = { ...fields, ...thought.fields }
  return {
    ...(Object.keys(inferenceConfig).length > 0 && { inferenceConfig }),
    ...(Object.keys(additional).length > 0 && { additionalModelRequestFields: additional }),
    ...paths,
  }
}

function refuseUnsupported({ candidates = 1, logprobs, modalities }: ChatSettings): void {
  if (candidates > 1) throw refuseSetting("candidates")
  if (logprobs !== undefined) throw refuseSetting("logprobs")
  if (modalities?.some((each) => each !== "text")) throw refuseSetting("modalities")
}

function refuseSetting(param: "candidates" | "logprobs" | "modalities"): GatewayError {
  const message = `\`${param}\` is not supported by this model's provider: ${fates[param].note}. Leave it out.`
  return new GatewayError("unsupported_parameter", message, { param })
}

function dropHints(settings: ChatSettings, { losses }: BedrockEncodeContext): void {
  for (const name of ["frequencyPenalty", "presencePenalty", "seed", "verbosity", "cacheKey", "endUser"] as const) {
    const value = settings[name]
    const isIdle = value === undefined || (value === 0 && name !== "seed")
    if (!isIdle) losses.push(dropped.hint(name, fates[name].note))
  }
}

/** If absent, the vendor's default applies: an explicit limit is reserved from the account's quota at once. */
function maxTokens(
  { maxOutputTokens: requested }: ChatSettings,
  { maxOutputTokens: most, losses }: BedrockEncodeContext,
) {
  if (requested === undefined || requested <= most) return requested
  losses.push(approximated.hint("maxOutputTokens", `the model generates at most ${most} tokens`))
  return most
}

interface ConverseSampling {
  readonly inference: JsonObject
  readonly fields: JsonObject
}

const DEFAULT_SAMPLING: ConverseSampling = { inference: {}, fields: {} }

function encodeSampling(
  { temperature, topP, topK }: ChatSettings,
  { thought, encodeContext }: { thought: ConverseThinking; encodeContext: BedrockEncodeContext },
): ConverseSampling {
  const { family, losses, fixedSampling } = encodeContext
  const lose = (name: string, why: string) => losses.push(dropped.hint(name, why))
  if (thought.samples === "itself" || fixedSampling) {
    const why = fixedSampling ? "the model does not allow setting it" : "the model sets it while it reasons"
    if (temperature !== undefined && temperature !== 1) lose("temperature", why)
    if (topP !== undefined && topP !== 1) lose("topP", why)
    if (topK !== undefined) lose("topK", why)
    return DEFAULT_SAMPLING
  }
  if (temperature !== undefined && temperature > 1) {
    losses.push(approximated.meaning("temperature", "a temperature is at most 1"))
  }
  const excluded = family.isClaude && temperature !== undefined && topP !== undefined
  if (excluded && topP !== 1) lose("topP", "the model accepts temperature or top_p, not both")
  if (topK !== undefined && !family.topK) lose("topK", "the model is not known to support it")
  return {
    inference: {
      ...(temperature !== undefined && { temperature: Math.min(temperature, 1) }),
      ...(topP !== undefined && !excluded && { topP }),
    },
    fields: topK === undefined || !family.topK ? {} : topKField(family.topK, topK),
  }
}

function topKField(word: NonNullable<BedrockEncodeContext["family"]["topK"]>, topK: number): JsonObject {
  return word === "inferenceConfig.topK" ? { inferenceConfig: { topK } } : { [word]: topK }
}

/** Claude reports which sequence stopped it, if requested. */
function encodeStop({ stop }: ChatSettings, { family, losses, stream }: BedrockEncodeContext) {
  const sequences = stop?.filter((sequence) => (family.isClaude ? sequence.trim() : sequence) !== "") ?? []
  if (stop && sequences.length < stop.length) {
    losses.push(dropped.meaning("stop", "the model does not accept white space as a stop sequence"))
  }
  if (sequences.length === 0) return { stopSequences: {}, paths: {} }
  const path = stream ? "/delta/stop_sequence" : "/stop_sequence"
  return {
    stopSequences: { stopSequences: sequences },
    paths: family.isClaude ? { additionalModelResponseFieldPaths: [path] } : {},
  }
}
