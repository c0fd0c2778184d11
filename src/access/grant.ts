// Grants of keys and tenants: read from input, validated, and kept within the tenant's grant.
import { excerpt, GatewayError } from "../canonical/gateway-error.ts"
import { usdOfNano } from "../canonical/usd.ts"
import { BUDGET_PERIODS, type Grant } from "../store/contract.ts"
import { coversModels, coversProtocol } from "./scope.ts"

/** Changes to a grant: members left out stay as they are, null removes a bound. */
export type GrantChange = { readonly [Name in keyof Grant]?: Grant[Name] | null }

/** A grant without bounds. */
export const UNBOUNDED: Grant = {
  models: null,
  protocols: null,
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrentRequests: null,
  strict: false,
  budgets: {},
}

/** The ids of all protocols; a test compares them with the list of protocols. */
export const PROTOCOL_IDS = [
  "openai-chat",
  "openai-responses",
  "openai-completions",
  "openai-embeddings",
  "openai-images",
  "openai-moderations",
  "anthropic-messages",
  "gemini-generate",
  "gemini-embed",
] as const
const PROTOCOL_WORDS: readonly string[] = ["openai", "anthropic", "gemini", ...PROTOCOL_IDS]

export const MOST_PER_MINUTE = 1_000_000_000
export const MOST_AT_ONCE = 1_000_000

/** Numeric members of a grant: their public names and maximum values. */
const NUMBERS = [
  ["requestsPerMinute", "requests_per_minute", MOST_PER_MINUTE],
  ["tokensPerMinute", "tokens_per_minute", MOST_PER_MINUTE],
  ["concurrentRequests", "concurrent_requests", MOST_AT_ONCE],
] as const

/** Applies changes to a grant; throws a GatewayError that names an invalid member. */
export function applyGrantChange(grant: Grant, change: GrantChange): Grant {
  for (const word of change.protocols ?? []) {
    if (PROTOCOL_WORDS.includes(word)) continue
    const message = `\`protocols\` contains an unknown protocol "${excerpt(word)}". Known protocols: ${PROTOCOL_WORDS.join(", ")}.`
    throw new GatewayError("invalid_parameter", message, { param: "protocols" })
  }
  for (const [name, param, most] of NUMBERS) {
    const value = change[name] ?? 1
    if (Number.isInteger(value) && value >= 1 && value <= most) continue
    throw new GatewayError("invalid_parameter", `\`${param}\` must be a whole number from 1 to ${most}.`, { param })
  }
  const changed = (name: keyof Grant) => (change[name] === undefined ? grant[name] : (change[name] ?? UNBOUNDED[name]))
  return Object.fromEntries(Object.keys(UNBOUNDED).map((name) => [name, changed(name as keyof Grant)])) as never
}

/** Refuses a grant that exceeds the tenant's. */
export function checkWithinTenant(change: GrantChange, tenant: Grant & { readonly name: string }): void {
  const refuse = (param: string, requested: string, bound: string) => {
    const mend = "Ask for no more than that, or change the tenant first."
    const message = `\`${param}\` asks for ${requested}, but the tenant \`${tenant.name}\` is limited to ${bound}. ${mend}`
    throw new GatewayError("invalid_parameter", message, { param })
  }
  for (const [param, covers] of [
    ["models", coversModels],
    ["protocols", coversProtocol],
  ] as const) {
    const bound = tenant[param]
    const beyond = bound && change[param]?.find((word) => !bound.some((outer) => covers(outer, word)))
    if (bound && beyond !== undefined && beyond !== null) refuse(param, excerpt(beyond), bound.join(", ") || "none")
  }
  for (const [name, param] of NUMBERS) {
    const bound = tenant[name] ?? Number.POSITIVE_INFINITY
    if ((change[name] ?? 0) > bound) refuse(param, String(change[name]), String(bound))
  }
  for (const period of BUDGET_PERIODS) {
    const [requested, bound] = [change.budgets?.[period], tenant.budgets[period]]
    if (requested !== undefined && bound !== undefined && requested > bound) {
      refuse(`budgets.${period}`, `${usdOfNano(requested)} USD`, `${usdOfNano(bound)} USD`)
    }
  }
  if (tenant.strict && change.strict === false) refuse("strict", "false", "true")
}
