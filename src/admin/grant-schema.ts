// Schemas for the grant of a key or tenant.
import { MOST_AT_ONCE, MOST_PER_MINUTE } from "../access/grant.ts"
import { isObject } from "../canonical/json.ts"
import {
  type AdminSchema,
  boolean,
  integer,
  list,
  nullable,
  object,
  optional,
  required,
  type SchemaMember,
  text,
  time,
} from "./admin-schema.ts"

export const usdSchema = text({ max: 20, about: "Decimal USD, such as 12.50." })
const perMinute = integer({ min: 1, max: MOST_PER_MINUTE })
const budgets = object({
  day: optional(usdSchema),
  week: optional(usdSchema),
  month: optional(usdSchema),
  total: optional(usdSchema),
})

export const grantInputSchemas = {
  models: list(text({ about: "A model id, or a pattern such as openai/*." })),
  protocols: list(text({ about: "A protocol's id, or openai, anthropic, gemini." })),
  requests_per_minute: perMinute,
  tokens_per_minute: perMinute,
  concurrent_requests: integer({ min: 1, max: MOST_AT_ONCE }),
  strict: boolean(),
  budgets,
}

export const grantViewMembers = {
  models: required(nullable(grantInputSchemas.models)),
  protocols: required(nullable(grantInputSchemas.protocols)),
  requests_per_minute: required(nullable(perMinute)),
  tokens_per_minute: required(nullable(perMinute)),
  concurrent_requests: required(nullable(grantInputSchemas.concurrent_requests)),
  strict: required(boolean()),
  budgets: required(budgets),
}

/** Balance of a key or tenant. */
export const balanceViewMembers = {
  balance: required(nullable(text({ about: "Amount that can still be spent, in decimal USD; null: unlimited." }))),
  held: required(text({ about: "Amount held for running requests, in decimal USD." })),
  debt: optional(
    text({ about: "Cost of requests beyond the balance, in decimal USD; the next top-up pays it first." }),
  ),
}

export const spendingViewMembers = {
  spending: required(
    list(
      object({
        of: required(text({ about: "Owner of the budget: key or tenant." })),
        period: required(text({ about: "day, week, month or total." })),
        limit: required(text()),
        remaining: required(text({ about: "Decimal USD." })),
        resets_at: required(nullable(time())),
      }),
    ),
  ),
}

export const topUpSchema = object({
  usd: required(usdSchema),
  event_id: optional(text({ about: "A top-up with the same event id is booked only once." })),
})

type SchemaMap = Readonly<Record<string, AdminSchema<unknown>>>
type SchemaValue<S> = S extends AdminSchema<infer T> ? T : never
type SchemaChanges<Kept extends SchemaMap, Cleared extends SchemaMap> = {
  readonly [Name in keyof Kept]?: SchemaValue<Kept[Name]>
} & { readonly [Name in keyof Cleared]?: SchemaValue<Cleared[Name]> | null }

export function optionalMembers<const M extends SchemaMap>(
  schemas: M,
): { [Name in keyof M]: SchemaMember<SchemaValue<M[Name]>, "maybe"> } {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, optional(schema)])) as never
}

/** An object with optional members; null clears those in `cleared`. */
export function changeSchema<const Kept extends SchemaMap, const Cleared extends SchemaMap>(
  kept: Kept,
  cleared: Cleared,
): AdminSchema<SchemaChanges<Kept, Cleared>> {
  const nullables = Object.fromEntries(Object.entries(cleared).map(([name, schema]) => [name, nullable(schema)]))
  const known = object({ ...optionalMembers(kept), ...optionalMembers(cleared) })
  return {
    jsonSchema: object({ ...optionalMembers(kept), ...optionalMembers(nullables) }).jsonSchema,
    read(value, path) {
      const read = known.read(value, path)
      const taken = Object.keys(cleared).filter((name) => isObject(value) && value[name] === null)
      return { ...read, ...Object.fromEntries(taken.map((name) => [name, null])) } as SchemaChanges<Kept, Cleared>
    },
  }
}
