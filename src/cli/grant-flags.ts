// Flags for the grant of a key or tenant. A value such as `all` or `none` removes a limit.
import { type Command, InvalidArgumentError } from "commander"
import type { BalanceView } from "../access/balance-service.ts"
import { type GrantInput, type GrantView, omitUndefined } from "../access/views/grant-view.ts"

/** A parsed limit, wrapped because Commander treats a bare null as no value. */
export interface FlagBound<Value> {
  readonly to: Value | null
}

export interface GrantFlags {
  readonly models?: FlagBound<readonly string[]>
  readonly protocols?: FlagBound<readonly string[]>
  readonly rpm?: FlagBound<number>
  readonly tpm?: FlagBound<number>
  readonly concurrent?: FlagBound<number>
  readonly strict?: boolean
  readonly budgets?: FlagBound<Readonly<Record<string, string>>>
}

export function withGrantFlags(command: Command, { rpm }: { rpm: string }): Command {
  return command
    .option("--models <patterns>", "allowed models, such as openai/*,meta/llama-3.3-70b, or all", parseList)
    .option(
      "--protocols <names>",
      "allowed protocols: openai, anthropic, gemini, ids such as openai-chat, or all",
      parseList,
    )
    .option("--rpm <number>", `requests per minute, or ${rpm}`, parseCount)
    .option("--tpm <number>", "tokens per minute, or none", parseCount)
    .option("--concurrent <number>", "concurrent requests, or none", parseCount)
    .option("--budgets <amounts>", "spending limits in USD, such as day=10,month=200, or none", parseAmounts)
    .option("--strict", "reject requests whose meaning would change when translated to the provider's protocol")
    .option("--no-strict", "allow lossy translation and report the losses")
}

export function toGrantInput({ models, protocols, rpm, tpm, concurrent, strict, budgets }: GrantFlags): GrantInput {
  return omitUndefined({
    models: models?.to,
    protocols: protocols?.to,
    requests_per_minute: rpm?.to,
    tokens_per_minute: tpm?.to,
    concurrent_requests: concurrent?.to,
    strict,
    budgets: budgets?.to,
  }) as GrantInput
}

export function parseList(text: string): FlagBound<readonly string[]> {
  if (text === "all") return { to: null }
  const items = text.split(",").map((item) => item.trim())
  if (items.some((item) => item === "")) throw new InvalidArgumentError("Give names separated by commas.")
  return { to: items }
}

function parseCount(text: string): FlagBound<number> {
  if (text === "none" || text === "default") return { to: null }
  if (/^[1-9]\d{0,9}$/.test(text)) return { to: Number(text) }
  throw new InvalidArgumentError("Give a whole number of at least 1.")
}

function parseAmounts(text: string): FlagBound<Readonly<Record<string, string>>> {
  if (text === "none") return { to: null }
  const pairs = text.split(",").map((pair) => /^(day|week|month|total)=(\d+(?:\.\d+)?)$/.exec(pair.trim()))
  const hint = "Give amounts in USD for day, week, month or total, such as day=10,month=200."
  const entries = pairs.map((pair) => {
    if (!pair) throw new InvalidArgumentError(hint)
    return [pair[1], pair[2]]
  })
  return { to: Object.fromEntries(entries) }
}

/** The limits on one line; the balance is null if it is not its own. */
export function formatLimits(grant: GrantView, { balance, debt }: Pick<BalanceView, "balance" | "debt">): string {
  const parts = [
    grant.requests_per_minute !== null && `${grant.requests_per_minute} rpm`,
    grant.tokens_per_minute !== null && `${grant.tokens_per_minute} tpm`,
    grant.concurrent_requests !== null && `${grant.concurrent_requests} at once`,
    ...Object.entries(grant.budgets).map(([period, amount]) => `${amount} USD ${period}`),
    balance !== null && `balance ${balance} USD`,
    debt !== undefined && `owes ${debt} USD`,
  ]
  return parts.filter((part) => part !== false).join(", ")
}
