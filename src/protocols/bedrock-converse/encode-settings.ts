// Settings for the vendor. What it lacks is dropped and named, or refused where the caller would notice.
import { GatewayError } from "../../canonical/error.ts"
import type { JsonObject } from "../../canonical/json.ts"
import type { Settings } from "../../canonical/request.ts"
import { approximated, dropped } from "../losses.ts"
import type { Thinking } from "./encode-thinking.ts"
import { fates } from "./fates.ts"
import type { Writing } from "./writing.ts"

export function encodeSettings(settings: Settings, { thought, writing }: { thought: Thinking; writing: Writing }) {
  refuse(settings)
  dropHints(settings, writing)
  const { stopSequences, paths } = encodeStop(settings, writing)
  const { inference, fields } = encodeSampling(settings, { thought, writing })
  const limit = maxTokens(settings, writing) ?? thought.maxTokens
  const inferenceConfig = { ...(limit !== undefined && { maxTokens: limit }), ...inference, ...stopSequences }
  const additional = { ...fields, ...thought.fields }
  return {
    ...(Object.keys(inferenceConfig).length > 0 && { inferenceConfig }),
    ...(Object.keys(additional).length > 0 && { additionalModelRequestFields: additional }),
    ...paths,
  }
}

function refuse({ candidates = 1, logprobs, modalities }: Settings): void {
  if (candidates > 1) throw refused("candidates")
  if (logprobs !== undefined) throw refused("logprobs")
  if (modalities?.some((each) => each !== "text")) throw refused("modalities")
}

function refused(param: "candidates" | "logprobs" | "modalities"): GatewayError {
  const message = `\`${param}\` cannot be asked of this model's provider: ${fates[param].note}. Leave it out.`
  return new GatewayError("unsupported_parameter", message, { param })
}

function dropHints(settings: Settings, { losses }: Writing): void {
  for (const name of ["frequencyPenalty", "presencePenalty", "seed", "verbosity", "cacheKey", "endUser"] as const) {
    const value = settings[name]
    const isIdle = value === undefined || (value === 0 && name !== "seed")
    if (!isIdle) losses.push(dropped.hint(name, fates[name].note))
  }
}

/** Left out, the vendor's own limit counts: what is named here is held against the account's quota at once. */
function maxTokens({ maxOutputTokens: asked }: Settings, { maxOutputTokens: most, losses }: Writing) {
  if (asked === undefined || asked <= most) return asked
  losses.push(approximated.hint("maxOutputTokens", `the model puts out at most ${most} tokens`))
  return most
}

interface Sampling {
  readonly inference: JsonObject
  readonly fields: JsonObject
}

const AS_IT_LIKES: Sampling = { inference: {}, fields: {} }

function encodeSampling(
  { temperature, topP, topK }: Settings,
  { thought, writing }: { thought: Thinking; writing: Writing },
): Sampling {
  const { family, losses, fixedSampling } = writing
  const lose = (name: string, why: string) => losses.push(dropped.hint(name, why))
  if (thought.samples === "itself" || fixedSampling) {
    const why = fixedSampling ? "the model does not let it be set" : "the model sets it while it thinks"
    if (temperature !== undefined && temperature !== 1) lose("temperature", why)
    if (topP !== undefined && topP !== 1) lose("topP", why)
    if (topK !== undefined) lose("topK", why)
    return AS_IT_LIKES
  }
  if (temperature !== undefined && temperature > 1) {
    losses.push(approximated.meaning("temperature", "a temperature is at most 1"))
  }
  const excluded = family.isClaude && temperature !== undefined && topP !== undefined
  if (excluded && topP !== 1) lose("topP", "the model takes a temperature or a nucleus, not both")
  if (topK !== undefined && !family.topK) lose("topK", "the model is not known to take it")
  return {
    inference: {
      ...(temperature !== undefined && { temperature: Math.min(temperature, 1) }),
      ...(topP !== undefined && !excluded && { topP }),
    },
    fields: topK === undefined || !family.topK ? {} : topKField(family.topK, topK),
  }
}

function topKField(word: NonNullable<Writing["family"]["topK"]>, topK: number): JsonObject {
  return word === "inferenceConfig.topK" ? { inferenceConfig: { topK } } : { [word]: topK }
}

/** Claude tells which of them stopped it, where it is asked to. */
function encodeStop({ stop }: Settings, { family, losses, stream }: Writing) {
  const said = stop?.filter((sequence) => (family.isClaude ? sequence.trim() : sequence) !== "") ?? []
  if (stop && said.length < stop.length) {
    losses.push(dropped.meaning("stop", "the model does not stop at white space alone"))
  }
  if (said.length === 0) return { stopSequences: {}, paths: {} }
  const path = stream ? "/delta/stop_sequence" : "/stop_sequence"
  return {
    stopSequences: { stopSequences: said },
    paths: family.isClaude ? { additionalModelResponseFieldPaths: [path] } : {},
  }
}
