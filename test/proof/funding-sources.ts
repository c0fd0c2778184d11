// The sources that pay for a request: a key's balance, its tenant's balance, a daily budget. Each is created with a given
// amount and reports its remainder.
import { nanoOfUsd, usdOfNano } from "../../src/canonical/usd.ts"
import { sendRequest } from "../money/client.ts"
import type { StagedGateway } from "./other-gateway.ts"

const UNLIMITED_REQUESTS = 1_000_000_000

export interface FundingKind {
  readonly what: string
  /** The number of keys that pay from it. */
  readonly keys: number
  readonly of: "balance" | "budget"
  /** The code of the refusal when it is empty. */
  readonly code: "insufficient_balance" | "budget_exceeded"
  /** Whether every key has a strict balance. */
  readonly strict?: true
}

const KEY_BALANCE: FundingKind = { what: "a key's balance", keys: 1, of: "balance", code: "insufficient_balance" }

export const FUNDING_KINDS: readonly [FundingKind, ...FundingKind[]] = [
  KEY_BALANCE,
  { what: "a tenant's balance, over 50 keys", keys: 50, of: "balance", code: "insufficient_balance" },
  { what: "a key's daily budget", keys: 1, of: "budget", code: "budget_exceeded" },
  { what: "a tenant's daily budget, over 50 keys", keys: 50, of: "budget", code: "budget_exceeded" },
  { ...KEY_BALANCE, what: "a strict balance", strict: true },
]

/** A refusal, and the amounts it names. */
export interface BalanceRefusal {
  readonly code: string | undefined
  readonly neededNano: bigint | undefined
  readonly leftNano: bigint | undefined
}

export function parseBalanceRefusal(text: string): BalanceRefusal {
  const [, needed = "", left = ""] = /may cost up to (\S+) USD, and (\S+) USD is left/.exec(text) ?? []
  return {
    code: /"code":\s*"([a-z_]+)"/.exec(text)?.[1],
    neededNano: nanoOfUsd(needed),
    leftNano: nanoOfUsd(left),
  }
}

export class FundingSource {
  private constructor(
    private readonly gateway: StagedGateway,
    readonly kind: FundingKind,
    readonly keys: readonly { readonly id: string; readonly key: string }[],
    readonly worthNano: bigint,
  ) {}

  static async open(gateway: StagedGateway, kind: FundingKind, worthNano: bigint): Promise<FundingSource> {
    const { what: name, keys: count, of, strict = false } = kind
    const usd = usdOfNano(worthNano)
    const tenant = `t-${crypto.randomUUID()}`
    const budgets = { budgets: { day: usd } }
    const isShared = count > 1
    if (isShared) await post(gateway, "/tenants", { name: tenant, ...(of === "budget" && budgets) })
    if (isShared && of === "balance") await post(gateway, `/tenants/${tenant}/topup`, { usd })
    const own = isShared ? { tenant } : of === "budget" ? budgets : { balance: usd }
    const key = { name, ...own, strict_balance: strict, requests_per_minute: UNLIMITED_REQUESTS }
    const keys: { id: string; key: string }[] = []
    for (let at = 0; at < count; at++) keys.push(await post(gateway, "/keys", key))
    return new FundingSource(gateway, kind, keys, worthNano)
  }

  /** The key whose turn it is. */
  key(turn: number): string {
    return this.keys[turn % this.keys.length]?.key ?? ""
  }

  /** The spendable amount, as reported to its holder. */
  async leftNano(): Promise<bigint> {
    const headers = { authorization: `Bearer ${this.key(0)}` }
    const answer = await fetch(`${this.gateway.url}/v1/key`, { headers })
    const status = (await answer.json()) as { balance: string | null; spending: { remaining: string }[] }
    const left = this.kind.of === "balance" ? status.balance : status.spending[0]?.remaining
    const size = nanoOfUsd(left?.replace("-", "") ?? "")
    if (size === undefined) throw new Error(`the remainder of ${this.kind.what} is "${left}"`)
    return left?.startsWith("-") ? -size : size
  }
}

/** The hold of such a request, as reported to a key without funds. */
export async function holdNano(
  gateway: StagedGateway,
  { kind: { strict }, ...request }: { kind: FundingKind; model: string; stream: boolean },
): Promise<bigint> {
  const funding = await FundingSource.open(gateway, { ...KEY_BALANCE, ...(strict && { strict }) }, 0n)
  const { text } = await sendRequest({ url: gateway.url, key: funding.key(0), protocol: "openai-chat", ...request })
  const { neededNano } = parseBalanceRefusal(text)
  if (neededNano === undefined) throw new Error(`the refusal of a key without funds names no amount: ${text}`)
  return neededNano
}

async function post<Answer>(gateway: StagedGateway, path: string, body: object): Promise<Answer> {
  const answer = await gateway.administer(`/admin/v1${path}`, { method: "POST", body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Answer
}
