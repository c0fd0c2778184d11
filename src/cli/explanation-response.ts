// The gateway's explanation response, and its text form.
import type { Loss } from "../canonical/loss.ts"
import { formatTable } from "./print.ts"

/** The members that the CLI prints. Amounts are decimal USD. */
export interface ExplanationResponse {
  readonly requested_model: string
  /** Names that the key's model map replaced with other models. */
  readonly mapped?: readonly { readonly from: string; readonly to: string }[]
  readonly protocol: string
  readonly strategy: string | null
  readonly attempts: readonly ExplainedAttemptResponse[]
  readonly excluded: readonly {
    readonly model: string
    readonly provider: string
    readonly upstream_model: string
    readonly reason: string
  }[]
  readonly refusal: { readonly code: string; readonly message: string } | null
  readonly money: {
    readonly held: string
    readonly balance: string | null
    readonly budgets: readonly { readonly of: string; readonly period: string; readonly remaining: string }[]
    readonly affordable_output_tokens: number | null
  }
}

interface ExplainedAttemptResponse {
  readonly model: string
  readonly provider: string
  readonly upstream_model: string
  readonly upstream_protocol: string
  readonly health: string
  readonly lane: string
  readonly cost: { readonly least: string; readonly likely: string; readonly most: string } | null
  /** Null if unknown until files are fetched. */
  readonly losses: readonly Loss[] | null
}

const ATTEMPT_HEAD = ["#", "MODEL", "PROVIDER", "NAME THERE", "PROTOCOL", "LANE", "HEALTH", "USD", "LOSSES"]

export function describeExplanation(explanation: ExplanationResponse): string {
  const { requested_model, mapped = [], protocol, strategy, attempts, excluded, refusal } = explanation
  const order = strategy === null ? "by priority and weight" : `by ${strategy}`
  const parts = [`${requested_model} over ${protocol}, ${order}`]
  if (mapped.length > 0)
    parts.push(
      formatTable(
        ["MAPPED FROM", "TO"],
        mapped.map(({ from, to }) => [from, to]),
      ),
    )
  if (refusal) parts.push(`The request would be rejected with ${refusal.code}: ${refusal.message}`)
  if (attempts.length > 0) parts.push(formatTable(ATTEMPT_HEAD, attempts.map(attemptRow)))
  const losses = attempts.flatMap(lossRows)
  if (losses.length > 0) parts.push(formatTable(["#", "LOST", "WEIGHT", "HOW", "WHY"], losses))
  if (excluded.length > 0)
    parts.push(formatTable(["NOT TRIED", "PROVIDER", "NAME THERE", "WHY"], excluded.map(excludedRow)))
  parts.push(describeMoney(explanation.money))
  return parts.join("\n\n")
}

function attemptRow(attempt: ExplainedAttemptResponse, index: number): string[] {
  const { model, provider, upstream_model, upstream_protocol, lane, health, cost, losses } = attempt
  const usd = cost === null ? "" : `${cost.likely} (${cost.least} to ${cost.most})`
  const lost = losses === null ? "not known" : String(losses.length)
  return [String(index + 1), model, provider, upstream_model, upstream_protocol, lane, health, usd, lost]
}

function lossRows({ losses }: ExplainedAttemptResponse, index: number): string[][] {
  return (losses ?? []).map(({ path, weight, how, why }) => [String(index + 1), path, weight, how, why])
}

function excludedRow({ model, provider, upstream_model, reason }: ExplanationResponse["excluded"][number]): string[] {
  return [model, provider, upstream_model, reason]
}

function describeMoney({ held, balance, budgets, affordable_output_tokens }: ExplanationResponse["money"]): string {
  const lines = [`${held} USD would be held`]
  if (balance !== null) lines.push(`${balance} USD is left of the balance`)
  for (const { of, period, remaining } of budgets)
    lines.push(`${remaining} USD is left of the ${of}'s budget (${period})`)
  if (affordable_output_tokens !== null) lines.push(`enough for ${affordable_output_tokens} tokens of output`)
  return `${lines.join(", ")}.`
}
