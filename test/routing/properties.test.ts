// Properties of every plan, for any request and any history.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { type RoutingOptions, STRATEGIES } from "../../src/canonical/chat/chat-request.ts"
import { FAILURE_KINDS, type FailureKind } from "../../src/routing/failure-kind.ts"
import { StagedHealth } from "../../src/routing/health-monitor.fixture.ts"
import { accountsAt, modelOf, StagedTable, withPrices } from "../../src/routing/route-plan.fixture.ts"
import type { RoutePlan, Target } from "../../src/routing/route-plan.ts"

const PROVIDERS = ["one", "two", "three", "four"]
const MODELS = ["m", "n", "o", "p", "q", "r"]
const GROUP = { id: "auto/x", models: ["o", "m", "p"] }

const row = fc.option(
  fc.record({
    priority: fc.integer({ min: 1, max: 2 }),
    weight: fc.integer({ min: 1, max: 3 }),
    price: fc.option(fc.integer({ min: 0, max: 5 })),
  }),
  { nil: undefined },
)
const world = fc.record({
  rows: fc.tuple(...MODELS.map(() => fc.tuple(...PROVIDERS.map(() => row)))),
  accounts: fc.tuple(...PROVIDERS.map(() => fc.integer({ min: 1, max: 4 }))),
  alike: fc.tuple(...PROVIDERS.map(() => fc.boolean())),
})
const ids = fc.option(fc.subarray([...PROVIDERS, "nobody"], { minLength: 1 }), { nil: undefined })
const routingOptions = fc.record({
  strategy: fc.option(fc.constantFrom(...STRATEGIES), { nil: undefined }),
  order: ids,
  only: ids,
  ignore: ids,
  maxPrice: fc.option(fc.record({ prompt: fc.integer({ min: 0, max: 5 }) }), { nil: undefined }),
  requireParameters: fc.boolean(),
})
/** A past event: its target, its account, and its outcome. */
const event = fc.record({
  model: fc.nat(MODELS.length - 1),
  provider: fc.nat(PROVIDERS.length - 1),
  account: fc.nat(3),
  kind: fc.constantFrom<(FailureKind | "answered")[]>(...FAILURE_KINDS, "answered", "server", "server"),
  times: fc.constantFrom(1, 1, 5),
  afterMs: fc.constantFrom(0, 100, 16_000),
})
const input = fc.record({
  world,
  routingOptions,
  names: fc.subarray([...MODELS, GROUP.id], { minLength: 1 }),
  events: fc.array(event, { maxLength: 25 }),
  rotation: fc.nat(),
  chance: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  isHome: fc.boolean(),
})
type GeneratedInput = typeof input extends fc.Arbitrary<infer Value> ? Value : never

function stagedTable({ rows, accounts, alike }: GeneratedInput["world"]): StagedTable {
  const models = MODELS.map((name, index) => {
    const served = PROVIDERS.flatMap((provider, at) => {
      const found = rows[index]?.[at]
      if (!found) return []
      const { price, ...rest } = found
      return [[provider, { ...rest, ...(price !== null && withPrices(price, price)) }] as const]
    })
    return modelOf(name, Object.fromEntries(served))
  })
  const opened = PROVIDERS.map((provider, at) => {
    const protocol = alike[at] ? "openai-chat" : "gemini"
    return [provider, accountsAt(provider, { count: accounts[at] ?? 1, protocol })] as const
  })
  return new StagedTable({ models, groups: [GROUP], accounts: Object.fromEntries(opened) })
}

function stagedHealth(table: StagedTable, events: GeneratedInput["events"]): StagedHealth {
  const stage = new StagedHealth()
  for (const { model, provider, account, kind, times, afterMs } of events) {
    stage.now += afterMs
    const accounts = table.table.accounts.get(PROVIDERS[provider] ?? "") ?? []
    const found = accounts[account % accounts.length]
    if (!found) continue
    const place = { account: found, upstreamModel: `${MODELS[model]}@${PROVIDERS[provider]}` }
    for (let each = 0; each < times; each++) kind === "answered" ? stage.answer(place) : stage.fail(place, kind)
  }
  return stage
}

const losesParameters = ({ account }: Target) => account.baseUrl.endsWith("/1")

/** The options that reach the plan, without undefined ones. */
function definedOptions(generated: GeneratedInput["routingOptions"]): Partial<RoutingOptions> {
  return Object.fromEntries(Object.entries(generated).filter(([, value]) => value !== undefined))
}

interface GeneratedPlan {
  readonly generated: GeneratedInput
  readonly table: StagedTable
  readonly stage: StagedHealth
  readonly plan: (more?: Partial<RoutingOptions>) => RoutePlan
}

/** Checks what shall hold in every generated world. */
function always(check: (made: GeneratedPlan) => void): void {
  fc.assert(
    fc.property(input, (generated) => {
      const table = stagedTable(generated.world)
      const stage = stagedHealth(table, generated.events)
      const [home] = table.table.accounts.get("two") ?? []
      const plan = (more: Partial<RoutingOptions> = {}) =>
        table.plan(generated.names, {
          routingOptions: { ...definedOptions(generated.routingOptions), ...more },
          facts: { stream: true, inputTokens: 100, candidates: 1 },
          health: stage.health.snapshot(),
          rotation: generated.rotation,
          chance: generated.chance,
          losesParameters,
          ...(generated.isHome && home && { home: { account: home, upstreamModel: "m@two", cachedTokens: 50 } }),
        })
      check({ generated, table, stage, plan })
    }),
    { numRuns: 400 },
  )
}

const nameOf = ({ account, upstreamModel }: Target) => `${upstreamModel} ${account.baseUrl}`

/** All targets of a name, derived from the world alone. */
function placesOf(name: string, { generated, table }: GeneratedPlan): Target[] {
  const models = name === GROUP.id ? GROUP.models : [name]
  return models.flatMap((model) => {
    const served = generated.world.rows[MODELS.indexOf(model)] ?? []
    return PROVIDERS.flatMap((provider, at) => {
      const found = served[at]
      if (!found || !isAllowed(provider, found.price, generated.routingOptions)) return []
      const accounts = table.table.accounts.get(provider) ?? []
      const allowed = accounts.map((account) => ({ account, upstreamModel: `${model}@${provider}` }) as Target)
      return generated.routingOptions.requireParameters ? allowed.filter((target) => !losesParameters(target)) : allowed
    })
  })
}

function isAllowed(
  provider: string,
  price: number | null,
  { only, ignore, maxPrice }: GeneratedInput["routingOptions"],
): boolean {
  if (only && !only.includes(provider)) return false
  if (ignore?.includes(provider)) return false
  return maxPrice === undefined || (price !== null && price <= maxPrice.prompt)
}

describe("every plan", () => {
  test("every plan is within the limits: eight attempts, six names, three per name, none twice", () => {
    always((made) => {
      const { attempts } = made.plan()
      expect(attempts.length).toBeLessThanOrEqual(8)
      expect(new Set(attempts.map(nameOf)).size).toBe(attempts.length)
      for (const name of made.generated.names) {
        const own = new Set(placesOf(name, made).map(nameOf))
        const others = new Set(
          made.generated.names
            .filter((each) => each !== name)
            .flatMap((each) => placesOf(each, made))
            .map(nameOf),
        )
        const alone = attempts.filter((each) => own.has(nameOf(each)) && !others.has(nameOf(each)))
        expect(alone.length).toBeLessThanOrEqual(3)
      }
    })
  })

  test("every plan tries only targets that the caller allows", () => {
    always((made) => {
      const allowed = new Set(made.generated.names.flatMap((name) => placesOf(name, made)).map(nameOf))
      for (const attempt of made.plan().attempts) expect(allowed).toContain(nameOf(attempt))
    })
  })

  test("every plan tries a target of every name that has one, even if all are out of rotation", () => {
    always((made) => {
      const tried = new Set(made.plan().attempts.map(nameOf))
      for (const name of made.generated.names.slice(0, 6)) {
        const places = placesOf(name, made).map(nameOf)
        if (places.length > 0) expect(places.some((place) => tried.has(place))).toBe(true)
      }
    })
  })

  test("a plan tries available targets before unavailable ones of the same model", () => {
    always((made) => {
      const { attempts } = made.plan()
      const isOut = (target: Target) => !made.stage.health.accepts(target)
      const firstOut = attempts.findIndex(isOut)
      if (firstOut >= 0) expect(attempts.slice(firstOut).every(isOut)).toBe(true)
      for (const name of made.generated.names.slice(0, 6)) {
        const places = placesOf(name, made)
        const own = new Set(places.map(nameOf))
        if (places.every(isOut)) continue
        const others = made.generated.names.filter((each) => each !== name).flatMap((each) => placesOf(each, made))
        const shared = new Set(others.map(nameOf))
        const alone = attempts.filter((each) => own.has(nameOf(each)) && !shared.has(nameOf(each)))
        expect(alone.filter(isOut)).toEqual([])
      }
    })
  })

  test("every plan is the same for the same input, and has no side effect", () => {
    always(({ plan }) => {
      const names = () => plan().attempts.map(nameOf)
      expect(names()).toEqual(names())
    })
  })

  test("every explained plan lists each target as tried or excluded with a reason", () => {
    always((made) => {
      const { attempts, excluded } = made.plan({ explain: true })
      const listed = [...attempts, ...excluded.map(({ upstreamModel }) => ({ upstreamModel }))].map(
        ({ upstreamModel }) => upstreamModel,
      )
      const all = made.generated.names.slice(0, 6).flatMap((name) => placesOf(name, made))
      for (const { upstreamModel } of all) expect(listed).toContain(upstreamModel)
    })
  })

  test("every plan has scores for each of its attempts", () => {
    always(({ plan }) => {
      const planned = plan()
      for (const attempt of planned.attempts) {
        const scores = planned.scoresOf(attempt)
        expect(scores?.quality.score).toBeWithin(0, 100.001)
        expect(scores?.cost === undefined).toBe(attempt.pricing === undefined)
        expect((scores?.cost?.likely ?? 0) <= (scores?.cost?.most ?? 0) + 1e-6).toBe(true)
      }
    })
  })
})
