// What a key or a tenant is granted, as the administration reads and describes it.
import { MOST_AT_ONCE, MOST_PER_MINUTE } from "../accounts/grant.ts"
import { isObject } from "../canonical/json.ts"
import {
  boolean,
  integer,
  list,
  type Member,
  nullable,
  object,
  optional,
  required,
  type Schema,
  text,
  time,
} from "./schema.ts"

export const usd = text({ max: 20, about: "Decimal USD, such as 12.50." })
const perMinute = integer({ min: 1, max: MOST_PER_MINUTE })
const budgets = object({
  day: optional(usd),
  week: optional(usd),
  month: optional(usd),
  total: optional(usd),
})

export const askedGrant = {
  models: list(text({ about: "A model id, or a pattern such as openai/*." })),
  protocols: list(text({ about: "A protocol's id, or openai, anthropic, gemini." })),
  requests_per_minute: perMinute,
  tokens_per_minute: perMinute,
  concurrent_requests: integer({ min: 1, max: MOST_AT_ONCE }),
  strict: boolean(),
  budgets,
}

export const shownGrant = {
  models: required(nullable(askedGrant.models)),
  protocols: required(nullable(askedGrant.protocols)),
  requests_per_minute: required(nullable(perMinute)),
  tokens_per_minute: required(nullable(perMinute)),
  concurrent_requests: required(nullable(askedGrant.concurrent_requests)),
  strict: required(boolean()),
  budgets: required(budgets),
}

/** What a key or a tenant has to spend. */
export const shownBalance = {
  balance: required(nullable(text({ about: "What may still be spent, in decimal USD; null: not limited." }))),
  held: required(text({ about: "What requests under way may cost, in decimal USD." })),
  debt: optional(
    text({ about: "What requests cost beyond the balance, in decimal USD: the next top-up pays it first." }),
  ),
}

export const shownSpending = {
  spending: required(
    list(
      object({
        of: required(text({ about: "key or tenant: whose budget it is." })),
        period: required(text({ about: "day, week, month or total." })),
        limit: required(text()),
        remaining: required(text({ about: "Decimal USD." })),
        resets_at: required(nullable(time())),
      }),
    ),
  ),
}

export const topUp = object({
  usd: required(usd),
  event_id: optional(text({ about: "The same one is booked once, however often it is sent." })),
})

type Schemas = Readonly<Record<string, Schema<unknown>>>
type Read<S> = S extends Schema<infer T> ? T : never
type Changes<Kept extends Schemas, Cleared extends Schemas> = {
  readonly [Name in keyof Kept]?: Read<Kept[Name]>
} & { readonly [Name in keyof Cleared]?: Read<Cleared[Name]> | null }

export function optionals<const M extends Schemas>(schemas: M): { [Name in keyof M]: Member<Read<M[Name]>, "maybe"> } {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, optional(schema)])) as never
}

/** An object whose members may be left out; those of `cleared` may be null, which takes away what was said before. */
export function changes<const Kept extends Schemas, const Cleared extends Schemas>(
  kept: Kept,
  cleared: Cleared,
): Schema<Changes<Kept, Cleared>> {
  const nullables = Object.fromEntries(Object.entries(cleared).map(([name, schema]) => [name, nullable(schema)]))
  const known = object({ ...optionals(kept), ...optionals(cleared) })
  return {
    described: object({ ...optionals(kept), ...optionals(nullables) }).described,
    read(value, path) {
      const read = known.read(value, path)
      const taken = Object.keys(cleared).filter((name) => isObject(value) && value[name] === null)
      return { ...read, ...Object.fromEntries(taken.map((name) => [name, null])) } as Changes<Kept, Cleared>
    },
  }
}
