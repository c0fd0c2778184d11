// Every strategy with every number of fallbacks and every failure, in generated worlds: the order, the limits and the
// fallback decisions match the plain reference.
import { expect, test } from "bun:test"
import fc from "fast-check"
import { type RoutingStrategy, STRATEGIES } from "../../src/canonical/chat/chat-request.ts"
import { allowsFallback, FAILURE_KINDS, type FailureKind } from "../../src/routing/failure-kind.ts"
import { StagedHealth } from "../../src/routing/health-monitor.fixture.ts"
import { accountsAt, modelOf, StagedTable, withPrices } from "../../src/routing/route-plan.fixture.ts"
import { type ReferenceEntry, type ReferenceOutcome, type ReferenceTarget, trials, walk } from "./reference.ts"

const PROVIDERS = ["one", "two", "three", "four", "five"]
const NAMES = ["m", "n", "o", "p", "q", "r"]

const place: fc.Arbitrary<Omit<ReferenceTarget, "provider">> = fc.record({
  accounts: fc.constantFrom(1, 1, 2, 4),
  priority: fc.integer({ min: 1, max: 2 }),
  weight: fc.integer({ min: 1, max: 2 }),
  isAlike: fc.boolean(),
  price: fc.integer({ min: 1, max: 4 }),
  latencyMs: fc.constantFrom(undefined, 100, 300, 900, 2700),
  precision: fc.constantFrom("bf16", "fp8", "int4"),
  isOut: fc.boolean(),
})
const entry = fc.array(place, { maxLength: PROVIDERS.length })
const world: fc.Arbitrary<ReferenceEntry[]> = fc.tuple(...NAMES.map(() => entry)).map((entries) =>
  entries.map((places, index) => ({
    name: NAMES[index] ?? "",
    places: places.map((each, at) => ({ ...each, provider: PROVIDERS[at] ?? "" })),
  })),
)

/** The same world, as src/ knows it. */
function staged(entries: readonly ReferenceEntry[]): { table: StagedTable; stage: StagedHealth } {
  const accounts: Record<string, ReturnType<typeof accountsAt>> = {}
  const models = entries.map(({ name, places }) => {
    const rows = places.map((each) => {
      const id = `${name}-${each.provider}`
      accounts[id] = accountsAt(id, { count: each.accounts, protocol: each.isAlike ? "openai-chat" : "gemini" })
      const { priority, weight, precision } = each
      return [
        id,
        { priority, weight, precision, model: `${name}@${each.provider}`, ...withPrices(each.price, each.price) },
      ] as const
    })
    return modelOf(name, Object.fromEntries(rows))
  })
  const table = new StagedTable({ models, accounts })
  const stage = new StagedHealth()
  for (const { name, places } of entries) {
    for (const { provider, latencyMs, isOut } of places) {
      for (const account of table.table.accounts.get(`${name}-${provider}`) ?? []) {
        const at = { account, upstreamModel: `${name}@${provider}` }
        for (const trial of latencyMs === undefined ? [] : stage.beginAttempt(9, at)) {
          stage.health.noteFirstToken(trial, latencyMs ?? 0)
          stage.health.endAttempt(trial, { answered: true })
        }
        if (isOut) stage.failTimes(5, at)
      }
    }
  }
  return { table, stage }
}

/** The targets that would be tried in order, and the end. */
function walked(planned: readonly string[], replyOf: (name: string) => FailureKind | "answered") {
  const attempted: string[] = []
  let ending: ReferenceOutcome = "exhausted"
  for (const name of planned) {
    attempted.push(name)
    const reply = replyOf(name)
    if (reply === "answered" || !allowsFallback(reply)) {
      ending = reply
      break
    }
  }
  return { attempted, ending }
}

const STRATEGY_WISHES: readonly (RoutingStrategy | undefined)[] = [undefined, ...STRATEGIES]
const FALLBACKS = [0, 1, 2, 3, 5]

test("the order of attempts and its end match the reference for every strategy, fallback and failure", () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(world, (entries) => {
      const { table, stage } = staged(entries)
      for (const strategy of STRATEGY_WISHES) {
        for (const fallbacks of FALLBACKS) {
          const chosen = entries.slice(0, fallbacks + 1)
          const { attempts } = table.plan(
            chosen.map(({ name }) => name),
            {
              routingOptions: strategy ? { strategy } : {},
              facts: { stream: true, inputTokens: 100, candidates: 1 },
              health: stage.health.snapshot(),
            },
          )
          const planned = attempts.map(
            ({ account, upstreamModel }) => upstreamModel + account.baseUrl.slice(account.baseUrl.lastIndexOf("/")),
          )
          const expected = trials(chosen, strategy)
          expect(planned).toEqual(expected)
          for (const kind of FAILURE_KINDS) {
            for (const failing of [1, 3, 8]) {
              const fails = new Set(expected.slice(0, failing))
              const replyOf = (name: string) => (fails.has(name) ? kind : "answered")
              const outcome = walked(planned, replyOf)
              expect(outcome).toEqual(walk(expected, replyOf))
              seen.add(`${strategy} ${fallbacks} ${kind} ${outcome.ending}`)
            }
          }
        }
      }
    }),
    { numRuns: 150 },
  )
  const all = STRATEGY_WISHES.flatMap((strategy) =>
    FALLBACKS.flatMap((fallbacks) =>
      FAILURE_KINDS.flatMap((kind) => {
        const endings = allowsFallback(kind) ? ["answered", "exhausted"] : [kind]
        return endings.map((ending) => `${strategy} ${fallbacks} ${kind} ${ending}`)
      }),
    ),
  )
  expect(all.filter((each) => !seen.has(each))).toEqual([])
})
