// Any sequence of ledger operations, concurrent or not, with restarts, interrupted flushes, a failing store and a
// jumping clock: the ledger answers as the plain reference does, and its invariants hold.
import { expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { GatewayError } from "../../src/canonical/gateway-error.ts"
import type { Budget } from "../../src/ledger/budget.ts"
import { Ledger } from "../../src/ledger/ledger.ts"
import { BUDGET_PERIODS } from "../../src/store/contract.ts"
import { type FaultyStore, openFaulty } from "./faulty-database.ts"
import { addUsed, RELEASED, type ReferenceAnswer, ReferenceLedger, type ReferenceUsage } from "./reference.ts"

/** One has a name that breaks lines and fields, and sorts elsewhere in SQLite. */
const KEYS = ["k1", "k2", "k\t%\n\ufffd😀"]
const tenantOf = (keyId: string) => (keyId === KEYS[2] ? "beta\t" : "acme")
const ACCOUNTS = ["key:k1", "key:k2", "tenant:acme", "tenant:beta\t"]
const HOUR_MS = 3_600_000

const amount = fc.bigInt({ min: 0n, max: 120n })
/** One of the requests so far. */
const which = fc.nat()
const account = fc.constantFrom(...ACCOUNTS)
const budget: fc.Arbitrary<Budget> = fc.record({
  of: fc.constantFrom("key", "tenant"),
  period: fc.constantFrom(...BUDGET_PERIODS),
  limitNano: fc.bigInt({ min: 50n, max: 600n }),
})

const does = <Name extends string>(name: Name) => fc.constant(name)
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      name: does("hold"),
      keyId: fc.constantFrom(...KEYS),
      amountNano: amount,
      budgets: fc.array(budget, { maxLength: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ name: does("extend"), which, nano: amount }) },
  { weight: 4, arbitrary: fc.record({ name: does("settle"), which, nano: amount, mayOwe: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ name: does("endSuspense"), which, nano: fc.oneof(fc.constant(0n), amount) }) },
  { weight: 1, arbitrary: fc.record({ name: does("note"), which, nano: amount }) },
  { weight: 1, arbitrary: fc.record({ name: does("release"), which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      name: does("topUp"),
      account,
      amountNano: fc.bigInt({ min: 1n, max: 400n }),
      eventId: fc.constantFrom("e1", "e2", "e3", "e4", "e5", "e6"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      name: does("setFloor"),
      account,
      floorNano: fc.option(fc.bigInt({ min: -100n, max: 100n })),
    }),
  },
)
type ModelStep = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/**
 * What comes in one turn of the event loop; at which statement the store fails meanwhile, and whether it goes on to; how
 * far the books are folded then; and whether the process dies.
 */
const turn = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 8 }),
  failsAt: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.nat(20) }),
  failureLasts: fc.boolean(),
  upkeep: fc.array(fc.constantFrom("begin", "fold", "fold", "fold", "fold all", "tidy"), { maxLength: 4 }),
  dies: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  clockHours: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: -30, max: 60 }) },
  ),
})
type ModelTurn = typeof turn extends fc.Arbitrary<infer Value> ? Value : never

class LedgerWorld {
  private readonly reference = new ReferenceLedger()
  private notes: [requestId: string, nano: bigint][] = []
  private readonly requests: string[] = []
  private now = Date.UTC(2026, 10, 15, 12)
  private store!: FaultyStore
  private ledger!: Ledger

  constructor(private readonly path: string) {
    this.start()
  }

  private start(): void {
    this.store = openFaulty(this.path)
    // Nothing is returned by itself here: it would be between two steps.
    const never = { returnSuspenseAfterMs: Number.MAX_SAFE_INTEGER }
    this.ledger = new Ledger({ table: this.store.table, now: () => this.now, ...never })
    this.ledger.recover()
  }

  async turn({ steps, failsAt, failureLasts, upkeep, dies, clockHours }: ModelTurn): Promise<void> {
    const { faults } = this.store
    this.now += clockHours * HOUR_MS
    faults.failAt(failsAt, { lasts: failureLasts })
    const both = steps.map((step) => this.prepare(step))
    // Something is always written, so that notes are.
    const all = [...both, { real: () => this.ledger.release("nobody"), plain: () => RELEASED }]
    const answers = await Promise.all(all.map(({ real }) => answerOf(real)))
    const isUnavailable = answers.some((answer) => (answer as { refused?: string })?.refused === "store_unavailable")
    // A rollback that fails is repeated later, unnoticed by callers.
    if (faults.happened && isUnavailable) {
      const expected = [{ refused: "store_unavailable" }, { refused: "fault" }]
      for (const answer of answers) if (answer !== undefined) expect(expected).toContainEqual(answer as never)
    } else {
      expect(answers).toEqual(all.map(({ plain }) => plain()))
      for (const [requestId, nano] of this.notes) this.reference.note(requestId, nano)
      this.notes = []
    }
    faults.failAt(undefined)
    for (const each of upkeep) this.upkeep(each)
    if (dies) this.restart()
    await this.compare()
  }

  private upkeep(what: ModelTurn["upkeep"][number]): void {
    const { table } = this.store
    if (what === "begin") table.beginFlush()
    if (what === "fold") table.flush(0)
    if (what === "tidy") table.compact(0)
    if (what !== "fold all") return
    table.beginFlush()
    while (table.flush(0));
  }

  private restart(): void {
    this.close()
    this.notes = []
    this.start()
    this.reference.recover()
  }

  /** One step, as the ledger takes it and as the reference does. */
  private prepare(step: ModelStep): { real: () => Promise<unknown>; plain: () => ReferenceAnswer } {
    const { ledger, reference } = this
    if (step.name === "hold") {
      const { keyId, amountNano, budgets } = step
      const requestId = `r${String(this.requests.length).padStart(4, "0")}`
      this.requests.push(requestId)
      const wish = { requestId, keyId, tenant: tenantOf(keyId), amountNano, budgets, at: this.now }
      return { real: () => ledger.hold(wish), plain: () => reference.hold(wish) }
    }
    if (step.name === "topUp") {
      const topUp = { ...step, at: this.now }
      return { real: () => ledger.topUp(topUp), plain: () => reference.topUp(topUp) }
    }
    if (step.name === "setFloor") {
      const { account, floorNano } = step
      return {
        real: () => ledger.setFloor(account, floorNano),
        plain: () => reference.setFloor(account, floorNano),
      }
    }
    return this.prepareOnRequest(step, this.requests[step.which % this.requests.length] ?? "none yet")
  }

  private prepareOnRequest(step: Extract<ModelStep, { which: number }>, requestId: string) {
    const { ledger, reference } = this
    switch (step.name) {
      case "extend":
        return {
          real: () => ledger.extend(requestId, step.nano),
          plain: () => reference.extend(requestId, step.nano),
        }
      case "settle": {
        const charge = { chargeNano: step.nano, mayOwe: step.mayOwe }
        const settlement = { ...charge, model: "m", provider: "p", usage: { input: 1 } }
        return {
          real: () => ledger.settle(requestId, settlement),
          plain: () => reference.settle(requestId, charge),
        }
      }
      case "endSuspense":
        return {
          real: () => ledger.suspense.settle(requestId, step.nano),
          plain: () => reference.endSuspense(requestId, step.nano),
        }
      case "release":
        return { real: () => ledger.release(requestId), plain: () => reference.release(requestId) }
      case "note":
        return {
          real: async () => {
            ledger.note(requestId, { lowerBoundNano: step.nano })
            this.notes.push([requestId, step.nano])
          },
          plain: () => undefined,
        }
    }
  }

  private async compare(): Promise<void> {
    const { ledger, reference, now: at } = this
    for (const [name, postedNano] of reference.posted) {
      const floorNano = reference.floors.get(name) ?? null
      const [heldNano, freeNano] = [reference.heldOn(name), reference.freeOn(name)]
      const expected = { postedNano, heldNano, floorNano, freeNano, owedNano: reference.owedOn(name) }
      expect(ledger.balance(name)).toEqual(expected)
      if (expected.freeNano !== null) expect(expected.freeNano >= 0n).toBe(true)
    }
    for (const keyId of KEYS)
      for (const period of BUDGET_PERIODS)
        for (const of of ["key", "tenant"] as const) {
          const [budget, who] = [
            { of, period, limitNano: 1000n },
            { keyId, tenant: tenantOf(keyId), at },
          ]
          expect(ledger.leftOf(budget, who)).toBe(reference.leftOf(budget, who))
        }
    for (const [requestId, settled] of reference.ended) expect(ledger.receipt(requestId)).toMatchObject(settled)
    const inSuspense = ledger.suspense.page(0n, 1000).requests.map(({ requestId }) => requestId)
    expect(inSuspense.sort()).toEqual([...reference.suspended.keys()].sort())
    expect(this.used()).toEqual(reference.used())
    // A clock at its beginning finds no hold too old; the clock here jumps by days.
    expect(await new Ledger({ table: this.store.table, now: () => 0 }).verify()).toEqual([])
  }

  /** The usage of each key on each day, read in small pages. */
  private used(): Map<string, ReferenceUsage> {
    const sums = new Map<string, ReferenceUsage>()
    const query = { from: "2026-01-01", to: "2027-12-31", limit: 3 }
    for (let page = this.ledger.usage(query); page.length > 0; ) {
      for (const { date, tenant, keyId, requests, input, paidNano } of page)
        addUsed(sums, { place: `${date} ${tenant} ${keyId}`, used: { requests, input, paidNano } })
      const after = page.at(-1)
      page = this.ledger.usage({ ...query, ...(after && { after }) })
    }
    return sums
  }

  close(): void {
    this.store.close()
  }
}

async function answerOf(act: () => Promise<unknown>): Promise<unknown> {
  try {
    return await act()
  } catch (thrown) {
    return { refused: thrown instanceof GatewayError ? thrown.code : "fault" }
  }
}

test("the ledger behaves as its reference", async () => {
  const folder = mkdtempSync(join(tmpdir(), "trivium-model-"))
  let runs = 0
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 20 }), async (turns) => {
        const world = new LedgerWorld(join(folder, `${runs++}.db`))
        try {
          for (const each of turns) await world.turn(each)
        } finally {
          world.close()
        }
      }),
      { numRuns: 150 },
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}, 120_000)
