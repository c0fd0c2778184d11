// Compares keys and tenants with a plain model of them: in any order of creation, change, rotation, revocation and
// restart, while the clock moves, no key exceeds its tenant's bounds.
import { afterAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { GatewayError } from "../canonical/gateway-error.ts"
import { BUDGET_PERIODS, type BudgetLimits, type Store } from "../store/contract.ts"
import { openSqlite } from "../store/sqlite/open-sqlite.ts"
import type { Caller } from "./caller.ts"
import { type GrantChange, PROTOCOL_IDS } from "./grant.ts"
import { fakeBalances, SECRETS } from "./key-registry.fixture.ts"
import { KeyRegistry } from "./key-registry.ts"
import { allowsModel, allowsProtocol } from "./scope.ts"

/** Enough models that a list of patterns matches all models of another pattern only by covering it. */
const MODELS = ["a/x", "a/y", "a/z", "b/x", "b/y", "c/x", "c/z"]
const PATTERNS = ["*", "a/*", "b/*", "*x", "a/x", "a/y", "b/x"]
const WORDS = ["openai", "openai-chat", "openai-responses", "openai-images", "gemini"]

/** Bounds as plain sets and numbers. */
interface ModeledBounds {
  readonly models: ReadonlySet<string>
  readonly protocols: ReadonlySet<string>
  readonly rpm: number
  readonly atOnce: number
  readonly strict: boolean
  readonly budgets: BudgetLimits
}

interface ModeledKey {
  readonly id: string
  tenant: string
  bounds: ModeledBounds
  expiresAt: number
  isRevoked: boolean
  /** The newest first; the second is accepted until `oldUntil`. */
  texts: string[]
  oldUntil: number
}

interface KeysModel {
  now: number
  readonly tenants: Map<string, ModeledBounds>
  readonly keys: ModeledKey[]
}

interface KeysUnderTest {
  keys: KeyRegistry
  readonly begin: () => KeyRegistry
}

const NO_BOUNDS: ModeledBounds = {
  models: new Set(MODELS),
  protocols: new Set(PROTOCOL_IDS),
  rpm: Number.POSITIVE_INFINITY,
  atOnce: Number.POSITIVE_INFINITY,
  strict: false,
  budgets: {},
}

const modelsOf = (pattern: string) =>
  MODELS.filter((name) => new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(name))
const protocolsOf = (word: string) => PROTOCOL_IDS.filter((id) => id === word || id.startsWith(`${word}-`))

function applyModeledChange(bounds: ModeledBounds, change: GrantChange): ModeledBounds {
  const words = (patterns: readonly string[] | null | undefined, spell: (word: string) => readonly string[]) =>
    patterns ? new Set(patterns.flatMap(spell)) : undefined
  const number = (value: number | null | undefined, before: number) =>
    value === undefined ? before : (value ?? Number.POSITIVE_INFINITY)
  const { models, protocols, strict, budgets } = change
  return {
    models: models === null ? NO_BOUNDS.models : (words(models, modelsOf) ?? bounds.models),
    protocols: protocols === null ? NO_BOUNDS.protocols : (words(protocols, protocolsOf) ?? bounds.protocols),
    rpm: number(change.requestsPerMinute, bounds.rpm),
    atOnce: number(change.concurrentRequests, bounds.atOnce),
    strict: strict === undefined ? bounds.strict : (strict ?? false),
    budgets: budgets === undefined ? bounds.budgets : (budgets ?? {}),
  }
}

/**
 * True if the change exceeds a bound of the tenant. Members without a bound of their own get the tenant's when used.
 */
function exceedsTenant(change: GrantChange, tenant: ModeledBounds): boolean {
  const requested = applyModeledChange(NO_BOUNDS, change)
  const outside = (words: unknown, some: ReadonlySet<string>, all: ReadonlySet<string>) =>
    Array.isArray(words) && [...some].some((each) => !all.has(each))
  return (
    outside(change.models, requested.models, tenant.models) ||
    outside(change.protocols, requested.protocols, tenant.protocols) ||
    (change.requestsPerMinute ?? 0) > tenant.rpm ||
    (change.concurrentRequests ?? 0) > tenant.atOnce ||
    (tenant.strict && change.strict === false) ||
    BUDGET_PERIODS.some((period) => (change.budgets?.[period] ?? 0n) > (tenant.budgets[period] ?? 10n ** 18n))
  )
}

const some = (words: readonly string[]) => fc.uniqueArray(fc.constantFrom(...words), { maxLength: 3 })
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 4 })
const few = fc.integer({ min: 1, max: 4 })
const amount = fc.bigInt({ min: 0n, max: 4n })
const wish: fc.Arbitrary<GrantChange> = fc.record(
  {
    models: orNull(some(PATTERNS)),
    protocols: orNull(some(WORDS)),
    requestsPerMinute: orNull(few),
    concurrentRequests: orNull(few),
    strict: orNull(fc.boolean()),
    budgets: orNull(fc.record({ day: amount, week: amount, month: amount, total: amount }, { requiredKeys: [] })),
  },
  { requiredKeys: [] },
)
const tenant = fc.constantFrom("default", "acme", "beta")
const which = fc.nat(5)

type KeysCommand = fc.Command<KeysModel, KeysUnderTest>

/** A command with a readable name in counterexamples. */
function step(name: string, run: (model: KeysModel, real: KeysUnderTest) => void): KeysCommand {
  return { check: () => true, run, toString: () => name }
}

const toComparableText = (value: unknown) =>
  JSON.stringify(value, (_, each) => (typeof each === "bigint" ? String(each) : each))

function codeOf(act: () => unknown): string {
  try {
    act()
    return "ok"
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown.code
    throw thrown
  }
}

const setTenant = fc.tuple(tenant, wish).map(([name, change]) =>
  step(`tenant ${name} ${toComparableText(change)}`, ({ tenants }, { keys }) => {
    const known = tenants.get(name)
    if (known) keys.tenants.update(name, change)
    else keys.tenants.create(name, change)
    tenants.set(name, applyModeledChange(known ?? NO_BOUNDS, change))
  }),
)

const createKey = fc.tuple(tenant, wish, orNull(fc.integer({ min: 0, max: 500 }))).map(([name, grant, lasts]) =>
  step(`create in ${name} ${toComparableText(grant)} for ${lasts} ms`, (model, { keys }) => {
    const bound = model.tenants.get(name)
    const expiresAt = lasts === null ? null : model.now + lasts
    const make = () => keys.create({ name: "k", tenant: name, expiresAt, ...grant })
    if (bound && exceedsTenant(grant, bound)) {
      expect(codeOf(make)).toBe("invalid_parameter")
      return
    }
    const { key, text } = make()
    model.keys.push({
      ...{ id: key.id, tenant: name, bounds: applyModeledChange(NO_BOUNDS, grant), isRevoked: false },
      ...{ expiresAt: expiresAt ?? Number.POSITIVE_INFINITY, texts: [text], oldUntil: 0 },
    })
  }),
)

const changeKey = fc.tuple(which, wish, fc.option(tenant, { nil: undefined })).map(([at, grantChange, moved]) =>
  step(`change ${at} to ${toComparableText(grantChange)} in ${moved ?? "its tenant"}`, (model, { keys }) => {
    const key = model.keys[at % model.keys.length]
    if (!key) return
    const name = moved ?? key.tenant
    const bound = model.tenants.get(name)
    const after = applyModeledChange(key.bounds, grantChange)
    const change = () => keys.update(key.id, { ...grantChange, ...(moved !== undefined && { tenant: moved }) })
    const isBeyond = bound && (exceedsTenant(grantChange, bound) || (name !== key.tenant && isWider(after, bound)))
    expect(codeOf(change)).toBe(isBeyond ? "invalid_parameter" : "ok")
    if (!isBeyond) Object.assign(key, { tenant: name, bounds: after })
  }),
)

/** True if a key that moves would exceed its new tenant. Only bounds that the key itself set count. */
function isWider(key: ModeledBounds, tenantBounds: ModeledBounds): boolean {
  const outside = (own: ReadonlySet<string>, all: ReadonlySet<string>, outer: ReadonlySet<string>) =>
    own !== all && [...own].some((each) => !outer.has(each))
  const finite = (number: number) => (Number.isFinite(number) ? number : 0)
  return (
    outside(key.models, NO_BOUNDS.models, tenantBounds.models) ||
    outside(key.protocols, NO_BOUNDS.protocols, tenantBounds.protocols) ||
    finite(key.rpm) > tenantBounds.rpm ||
    finite(key.atOnce) > tenantBounds.atOnce ||
    BUDGET_PERIODS.some((period) => (key.budgets[period] ?? 0n) > (tenantBounds.budgets[period] ?? 10n ** 18n))
  )
}

const rotate = fc.tuple(which, fc.integer({ min: 0, max: 200 })).map(([at, graceMs]) =>
  step(`rotate ${at} with ${graceMs} ms`, (model, { keys }) => {
    const key = model.keys[at % model.keys.length]
    if (!key) return
    if (key.isRevoked) {
      expect(codeOf(() => keys.rotate(key.id, { graceMs }))).toBe("invalid_parameter")
      return
    }
    key.texts.unshift(keys.rotate(key.id, { graceMs }).text)
    key.oldUntil = model.now + graceMs
  }),
)

const revoke = which.map((at) =>
  step(`revoke ${at}`, (model, { keys }) => {
    const key = model.keys[at % model.keys.length]
    if (!key) return
    keys.revoke(key.id)
    key.isRevoked = true
  }),
)

const wait = fc.integer({ min: 1, max: 300 }).map((ms) =>
  step(`wait ${ms} ms`, (model) => {
    model.now += ms
  }),
)

const restart = fc.constant(
  step("restart", (_, real) => {
    real.keys = real.begin()
  }),
)

/** Authenticates with every text of every key. */
const useAll = fc.constant(
  step("use all", (model, { keys }) => {
    for (const key of model.keys) {
      for (const [age, text] of key.texts.entries()) {
        expect(codeOf(() => keys.authenticate(text))).toBe(expectedAt(model, key, age))
        if (expectedAt(model, key, age) === "ok") expectHeld(keys.authenticate(text), model, key)
      }
    }
  }),
)

function expectedAt({ now }: KeysModel, key: ModeledKey, age: number): string {
  if (age > 1) return "invalid_api_key"
  if (age === 1 && key.oldUntil <= now) return "revoked_api_key"
  if (key.isRevoked) return "revoked_api_key"
  return key.expiresAt <= now ? "expired_api_key" : "ok"
}

function expectHeld(caller: Caller, { tenants }: KeysModel, { id, tenant: name, bounds }: ModeledKey): void {
  const outer = tenants.get(name) ?? NO_BOUNDS
  expect([caller.id, caller.tenant]).toEqual([id, name])
  const models = MODELS.filter((each) => allowsModel(caller.models, each))
  expect(models).toEqual(MODELS.filter((each) => bounds.models.has(each) && outer.models.has(each)))
  const protocols = PROTOCOL_IDS.filter((each) => allowsProtocol(caller.protocols, each))
  expect(protocols).toEqual(PROTOCOL_IDS.filter((each) => bounds.protocols.has(each) && outer.protocols.has(each)))
  expect(caller.strict).toBe(bounds.strict || outer.strict)
  expect(caller.requestsPerMinute ?? Number.POSITIVE_INFINITY).toBe(bounds.rpm)
  expect(caller.tenantGrant?.requestsPerMinute ?? Number.POSITIVE_INFINITY).toBe(outer.rpm)
  expect(caller.concurrentRequests ?? Number.POSITIVE_INFINITY).toBe(bounds.atOnce)
  expect(caller.tenantGrant?.concurrentRequests ?? Number.POSITIVE_INFINITY).toBe(outer.atOnce)
  const budgets = (of: string) => caller.budgetsInForce.filter((budget) => budget.of === of)
  for (const [of, limits] of [
    ["key", bounds.budgets],
    ["tenant", outer.budgets],
  ] as const)
    expect(Object.fromEntries(budgets(of).map(({ period, limitNano }) => [period, limitNano])) as BudgetLimits).toEqual(
      limits,
    )
}

const folder = mkdtempSync(join(tmpdir(), "trivium-keys-model-"))
const store: Store = openSqlite(join(folder, "trivium.db"))
afterAll(() => {
  store.close()
  rmSync(folder, { recursive: true })
})

/** A store per run would take longer than all its steps, so runs share one and use separate names. */
function begin(model: KeysModel, run: number): KeysUnderTest {
  const table = store.keys
  const at = (name: string) => `run ${run} ${name}`
  const tenants = {
    ...store.tenants,
    insert: (row: Parameters<typeof store.tenants.insert>[0]) => store.tenants.insert({ ...row, name: at(row.name) }),
    replace: (row: Parameters<typeof store.tenants.replace>[0]) =>
      store.tenants.replace({ ...row, name: at(row.name) }),
    find: (name: string) => {
      const row = store.tenants.find(at(name))
      return row && { ...row, name }
    },
  }
  const fresh = () =>
    new KeyRegistry({ table, tenants, balances: fakeBalances(), secrets: SECRETS, now: () => model.now })
  return { keys: fresh(), begin: fresh }
}

let runs = 0
test("no key exceeds its tenant, in any order of operations", () => {
  const steps = [setTenant, createKey, createKey, changeKey, changeKey, rotate, revoke, wait, restart, useAll, useAll]
  fc.assert(
    fc.property(fc.commands(steps, { maxCommands: 60, size: "max" }), (commands) => {
      fc.modelRun(() => {
        const model: KeysModel = { now: 1_000_000, tenants: new Map(), keys: [] }
        return { model, real: begin(model, ++runs) }
      }, commands)
    }),
    { numRuns: 300 },
  )
})
