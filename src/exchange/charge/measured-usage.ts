// The usage of an exchange: as the upstream reported it if that is complete and plausible, otherwise as counted here.
import type { BilledToolCalls } from "../../canonical/hosted-calls.ts"
import { hasOutput } from "../../canonical/model.ts"
import type { Usage } from "../../canonical/usage.ts"
import type { TokenFamily } from "../../counting/count-tokens.ts"
import type { CountTask } from "../../counting/token-counter.ts"
import type { RequestSummary } from "../../protocols/contract.ts"
import type { Target } from "../../routing/route-plan.ts"
import type { CountableText } from "./countable-text.ts"

/** Source of the counts. Suspect: the reported usage is impossible, so the gateway counted instead. */
export type UsageBasis = "reported" | "estimated" | "suspect"

export interface MeasuredUsage {
  readonly usage: Usage
  /** Whether it is more than the model's window holds, as the sum over several calls of the model may be. */
  readonly exceedsWindow?: boolean
  readonly images?: number
  readonly basis: UsageBasis
}

/** Usage as the upstream reported it. */
export interface ReportedUsage {
  readonly usage: Usage | undefined
  /** True if it was reported after all content. */
  readonly isAll: boolean
  /** How many images the answer holds. */
  readonly images?: number | undefined
  /** The model that the upstream reports. */
  readonly model?: string | undefined
  /** Tools that the upstream reports it ran. */
  readonly hostedCalls?: BilledToolCalls | undefined
}

/** The token counter. Never rejects. */
export interface TokenCounting {
  /** Whether it can count at once; before, it has to be loaded. */
  readonly isWarm?: boolean
  count(task: CountTask): Promise<number>
}

/** The gateway's own counts, called only if they are needed. */
export interface UsageCounter {
  input(): Promise<number>
  output(): Promise<number>
}

const INPUT = ["input", "cacheRead", "cacheWrite", "cacheWrite1h", "audioInput", "imageInput"] as const
const OUTPUT = ["output", "reasoning", "audioOutput", "imageOutput"] as const

/** Of a model whose window is not known. */
const WIDEST_WINDOW = 10_000_000
/** So often a provider that runs tools of its own may call the model for one answer. */
const MOST_TOOL_LOOPS = 64
/** Tokens of an image of medium quality, for images priced by token without reported usage. */
const TOKENS_PER_IMAGE = 1056

interface UsageContext {
  readonly target: Target
  readonly reading: Pick<RequestSummary, "outputLimits" | "embeds" | "runsTools">
  readonly counted: UsageCounter
}

/** The reported usage if complete and plausible; undefined if the gateway has to count. */
export function acceptReported(
  { usage, isAll, images }: ReportedUsage,
  context: Omit<UsageContext, "counted">,
): MeasuredUsage | undefined {
  if (!usage || !isAll) return undefined
  const input = totalOf(usage, INPUT)
  const output = hasOutput(context.target.model.kind) ? totalOf(usage, OUTPUT) : 0
  const most = plausibleMost(context)
  const isSound = input !== undefined && output !== undefined && input <= most.input && output <= most.output
  if (!isSound) return undefined
  const { contextWindow = WIDEST_WINDOW } = context.target.model
  const exceedsWindow = input > contextWindow && !context.reading.embeds
  if (!exceedsWindow && images === undefined) return { usage, basis: "reported" }
  return { usage, ...(exceedsWindow && { exceedsWindow }), ...(images !== undefined && { images }), basis: "reported" }
}

/** The plausible part of the reported usage, completed by the gateway's counts. */
export async function countMissing(report: ReportedUsage, context: UsageContext): Promise<MeasuredUsage> {
  const { target, counted } = context
  const { usage = {}, images } = report
  const input = totalOf(usage, INPUT)
  const output = totalOf(usage, OUTPUT)
  const most = plausibleMost(context)
  const isInputReported = input !== undefined && input <= most.input
  const isOutputReported = output !== undefined && output <= most.output
  const answers = hasOutput(target.model.kind)
  const drawn = images === undefined ? {} : { images }
  const whole = {
    ...(isInputReported ? pickBuckets(usage, INPUT) : { input: Math.min(most.input, await counted.input()) }),
    ...(answers && (await outputOf(isOutputReported ? usage : {}, { ...report, ...context, most: most.output }))),
  }
  const isOdd = report.usage !== undefined && (exceedsMost(input, most.input) || exceedsMost(output, most.output))
  // Counts were reported, and none is valid.
  const isEmpty = report.usage !== undefined && input === undefined && output === undefined
  return { usage: whole, ...drawn, basis: isOdd || isEmpty ? "suspect" : "estimated" }
}

function exceedsMost(count: number | undefined, most: number): boolean {
  return count !== undefined && count > most
}

/** What a model can take and give: what is drawn is not in its window. */
function plausibleMost({ target, reading: { outputLimits, embeds, runsTools } }: Omit<UsageContext, "counted">): {
  readonly input: number
  readonly output: number
} {
  const { kind, contextWindow = WIDEST_WINDOW, capabilities } = target.model
  const output = kind === "image" ? WIDEST_WINDOW : contextWindow
  // Each text that is embedded has the window to itself.
  const calls = runsTools || capabilities.includes("web_search") ? MOST_TOOL_LOOPS : (embeds?.inputs ?? 1)
  return { input: contextWindow * calls, output: output * (runsTools ? calls : outputLimits.candidates) }
}

/** At least the usage reported before the end. */
async function outputOf(
  usage: Usage,
  { target, counted, images = 1, isAll, most }: UsageContext & ReportedUsage & { most: number },
): Promise<Usage> {
  const reported = totalOf(usage, OUTPUT)
  if (reported !== undefined && isAll) return pickBuckets(usage, OUTPUT)
  if (target.model.kind === "image") return { imageOutput: images * TOKENS_PER_IMAGE }
  const output = Math.min(most, await counted.output())
  return reported !== undefined && reported >= output ? pickBuckets(usage, OUTPUT) : { output }
}

/** Undefined if none of it was reported. */
function totalOf(usage: Usage, buckets: readonly (keyof Usage)[]): number | undefined {
  let sum: number | undefined
  for (const bucket of buckets) {
    const count = usage[bucket]
    if (count !== undefined) sum = (sum ?? 0) + count
  }
  return sum
}

function pickBuckets(usage: Usage, buckets: readonly (keyof Usage)[]): Usage {
  return Object.fromEntries(buckets.flatMap((name) => (usage[name] === undefined ? [] : [[name, usage[name]]])))
}

/** Of a text that was not kept whole, by the share that was. */
export async function countTokensIn(
  { text, tokens, shape }: CountableText,
  { share, family, counting }: { share: number; family: TokenFamily; counting: TokenCounting },
): Promise<number> {
  const counted = text === "" && !shape ? 0 : await counting.count({ text, family, ...(shape && { shape }) })
  return Math.ceil(counted / share) + tokens
}
