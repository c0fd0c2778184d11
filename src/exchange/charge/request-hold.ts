// The hold for a request before any provider is called: its maximum input and the output it may request, at the most
// expensive target's price.
import type { Caller } from "../../access/caller.ts"
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { ModelKind } from "../../canonical/model.ts"
import { inputBound } from "../../counting/input-bound.ts"
import { boundOf } from "../../ledger/cost.ts"
import { MAX_NANO } from "../../ledger/ledger-rules.ts"
import type { OutputLimits } from "../../protocols/contract.ts"
import type { Target } from "../../routing/route-plan.ts"
import type { ReadRequest } from "../read-request.ts"
import type { LimitOverruns } from "./limit-overruns.ts"

/** Output tokens to hold if the caller sets no limit: as many as most responses have. */
const DEFAULT_OUTPUT = 4096
/** A stream's output is held in steps, as it grows. */
const STREAM_STEP = 2048
/** Above any response's length, whatever limit the caller sets. */
const MOST_OUTPUT = 1e12
/** The most an image is counted as where it is sold by the token. */
const TOKENS_PER_IMAGE = 6500
/** What an answer is taken to have for a byte as it grows: most has a little more than half of it. */
const TOKENS_PER_BYTE = 0.4
const BYTES_PER_LIKELY_TOKEN = 4

export interface RequestHold {
  /** Targets with a price. */
  readonly targets: readonly Target[]
  readonly nano: bigint
  /** The output it is enough for, and the most that a host which keeps to the limit puts out. */
  readonly outputTokens: number
  readonly mostOutput: number
  readonly step: number
  /** What the request will probably use, for limits on tokens. */
  readonly likelyTokens: number
}

interface TokenBounds {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly images?: number
}

interface HoldOptions {
  readonly caller: Pick<Caller, "strictBalance">
  readonly overruns: Pick<LimitOverruns, "has">
}

export function computeHold(
  request: ReadRequest,
  targets: readonly Target[],
  { caller: { strictBalance }, overruns }: HoldOptions,
): RequestHold {
  const { text, reading } = request
  const inputTokens = inputBound(text)
  const step = Math.min(MOST_OUTPUT, STREAM_STEP * reading.outputLimits.candidates)
  const priced: Target[] = []
  let nano = 0n
  let output = 0
  let mostOutput = 0
  for (const target of targets) {
    const exceeds = overruns.has(target)
    const most = Math.min(
      MOST_OUTPUT,
      exceeds ? modelBound(request, target) : outputBound(request, target, strictBalance),
    )
    const outputTokens = reading.stream && !strictBalance && !exceeds ? Math.min(most, step) : most
    const images = Math.min(MOST_OUTPUT, imagesOf(request, target))
    const bound = boundAt(target, { inputTokens, outputTokens, images })
    if (bound === undefined) continue
    priced.push(target)
    if (bound > nano) nano = bound
    output = Math.max(output, outputTokens)
    mostOutput = Math.max(mostOutput, outputLimitOf(request, target))
  }
  if (priced.length === 0) throw notPricedError(targets)
  const likelyTokens = Math.ceil(text.length / BYTES_PER_LIKELY_TOKEN) + Math.min(output, step)
  return {
    targets: priced,
    nano: nano < MAX_NANO ? nano : MAX_NANO,
    outputTokens: output,
    mostOutput,
    step,
    likelyTokens,
  }
}

export interface HoldExtension {
  readonly nano: bigint
  readonly outputTokens: number
  /** True if the response must wait for the extension. */
  readonly isDue: boolean
}

interface DeliveredOutput {
  readonly target: Target
  /** Of the text, in bytes. */
  readonly length: number
  /** The tokens that it has at least. */
  readonly leastOutput: number
  readonly heldOutput: number
}

/**
 * What more to hold for an answer of this length; undefined while what is held is enough, and some to spare. A host that
 * keeps to its limit needs no more than that; for one that is seen not to, all that it delivers is held.
 */
export function computeExtension(
  { step, mostOutput }: RequestHold,
  { target, length, leastOutput, heldOutput }: DeliveredOutput,
): HoldExtension | undefined {
  const delivered = Math.max(leastOutput, length * TOKENS_PER_BYTE)
  const isWithin = leastOutput <= mostOutput
  if (delivered + step / 2 <= heldOutput || (isWithin && heldOutput >= mostOutput)) return undefined
  const lacking = Math.max(step, Math.ceil(delivered + step / 2 - heldOutput))
  const outputTokens = isWithin ? Math.min(lacking, mostOutput - heldOutput) : lacking
  const nano = boundAt(target, { inputTokens: 0, outputTokens })
  return nano === undefined ? undefined : { nano, outputTokens, isDue: delivered >= heldOutput }
}

function boundAt({ pricing }: Target, bounds: TokenBounds): bigint | undefined {
  return pricing && boundOf(bounds, pricing)
}

function outputBound(request: ReadRequest, target: Target, isStrict: boolean): number {
  const { kind, maxOutputTokens = DEFAULT_OUTPUT } = target.model
  const { outputLimits } = request.reading
  const { maxOutputTokens: requested, candidates } = outputLimits
  if (kind !== "chat") return outputTokensOf(outputLimits, kind)
  return (requested ?? (isStrict ? maxOutputTokens : Math.min(maxOutputTokens, DEFAULT_OUTPUT))) * candidates
}

/** The model's maximum output, whatever limit the caller sets. */
function modelBound({ reading: { outputLimits } }: ReadRequest, { model }: Target): number {
  const { kind, maxOutputTokens, contextWindow = DEFAULT_OUTPUT } = model
  if (kind !== "chat") return outputTokensOf(outputLimits, kind)
  return Math.max(outputLimits.maxOutputTokens ?? 0, maxOutputTokens ?? contextWindow) * outputLimits.candidates
}

function outputTokensOf({ candidates }: OutputLimits, kind: ModelKind): number {
  return kind === "image" ? candidates * TOKENS_PER_IMAGE : 0
}

/** What an answer never has more of, from a host that keeps to its limit. */
export function outputLimitOf({ reading: { outputLimits } }: ReadRequest, { model }: Target): number {
  return (outputLimits.maxOutputTokens ?? model.maxOutputTokens ?? Number.POSITIVE_INFINITY) * outputLimits.candidates
}

function imagesOf({ reading: { outputLimits } }: ReadRequest, { model }: Target): number {
  return model.kind === "image" ? outputLimits.candidates : 0
}

function notPricedError([target]: readonly Target[]): GatewayError {
  const id = target?.model.id
  const message = `\`${id}\` has no price, and the gateway does not call models without a price. Set its \`pricing\` in the configuration ("0" if it is free).`
  return new GatewayError("model_not_priced", message, { param: "model" })
}
