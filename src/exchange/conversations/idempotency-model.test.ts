// The idempotency registry behaves as a plain model for any order of requests, answers, rollbacks, crashes and clock
// steps.
import { expect, test } from "bun:test"
import fc from "fast-check"
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { Store } from "../../store/contract.ts"
import { type ClaimInput, openMemory, registryOn, SEAL_BYTES } from "./idempotency.fixture.ts"
import type { IdempotencyClaim, IdempotencyRegistry } from "./idempotency.ts"

const LIMITS = {
  ...{ lifetimeMs: 100, answerBytes: 20, gatheredBytes: 45 },
  ofTenant: { rows: 4, answerBytes: 2 * SEAL_BYTES + 30 },
  ofAll: { rows: 5, answerBytes: 3 * SEAL_BYTES + 40 },
}
const NOON = Date.UTC(2026, 10, 15, 12)

interface ModelRow {
  readonly tenant: string
  readonly bodyHash: string
  readonly requestId: string
  readonly at: number
  /** Undefined if it was not stored, or was dropped. */
  answer: string | undefined
}

interface ModelClaim {
  readonly scope: string
  readonly input: ClaimInput
  /** Undefined if it is not buffered. */
  sent: string | undefined
  isAnswered: boolean
}

interface IdempotencyModel {
  now: number
  /** Oldest first. */
  readonly rows: Map<string, ModelRow>
  claims: ModelClaim[]
}

class RegistryUnderTest {
  now = NOON
  claims: IdempotencyClaim[] = []
  repeats: IdempotencyRegistry

  constructor(readonly store: Store) {
    this.repeats = this.start()
  }

  private start(): IdempotencyRegistry {
    return registryOn(this.store.idempotency, { now: () => this.now, limits: LIMITS })
  }

  dieAndStart(): void {
    this.claims = []
    this.repeats = this.start()
  }
}

/** The outcome of `begin` as text. */
function expected(model: IdempotencyModel, scope: string, input: ClaimInput): string {
  const running = model.claims.find((claim) => claim.scope === scope)
  if (running) return running.input.bodyHash === input.bodyHash ? "idempotency_in_flight" : "idempotency_conflict"
  const row = model.rows.get(scope)
  if (!row || model.now - row.at >= LIMITS.lifetimeMs) return "claim"
  if (row.bodyHash !== input.bodyHash) return "idempotency_conflict"
  return input.keepsAnswer && row.answer !== undefined ? `${row.requestId}: ${row.answer}` : "idempotency_replayed"
}

class BeginCommand implements fc.Command<IdempotencyModel, RegistryUnderTest> {
  constructor(private readonly input: ClaimInput) {}

  check(): boolean {
    return true
  }

  run(model: IdempotencyModel, real: RegistryUnderTest): void {
    const { input } = this
    const scope = `${input.keyId} ${input.idempotencyKey}`
    const outcome = expected(model, scope, input)
    let seen: string
    try {
      const begun = real.repeats.begin(input)
      seen = "body" in begun ? `${begun.requestId}: ${Buffer.from(begun.body)}` : "claim"
      if (!("body" in begun)) real.claims.push(begun)
    } catch (thrown) {
      seen = thrown instanceof GatewayError ? thrown.code : String(thrown)
    }
    expect(seen).toBe(outcome)
    if (outcome === "claim")
      model.claims.push({ scope, input, sent: input.keepsAnswer ? "" : undefined, isAnswered: false })
  }

  toString(): string {
    return `begin(${JSON.stringify(this.input)})`
  }
}

/** One step on one of the claims. */
abstract class ClaimCommand implements fc.Command<IdempotencyModel, RegistryUnderTest> {
  constructor(protected readonly which: number) {}

  check({ claims }: Readonly<IdempotencyModel>): boolean {
    return claims.length > 0
  }

  run(model: IdempotencyModel, real: RegistryUnderTest): void {
    const at = this.which % model.claims.length
    const [modelClaim, claim] = [model.claims[at], real.claims[at]]
    if (modelClaim && claim) this.act({ model, real, modelClaim, claim })
  }

  abstract act(stage: {
    model: IdempotencyModel
    real: RegistryUnderTest
    modelClaim: ModelClaim
    claim: IdempotencyClaim
  }): void
}

class SentCommand extends ClaimCommand {
  constructor(
    which: number,
    private readonly text: string,
  ) {
    super(which)
  }

  act({
    model,
    modelClaim,
    claim,
  }: {
    model: IdempotencyModel
    modelClaim: ModelClaim
    claim: IdempotencyClaim
  }): void {
    claim.sent(Buffer.from(this.text))
    if (modelClaim.sent === undefined) return
    const longer = modelClaim.sent + this.text
    const gathered = model.claims.reduce((sum, { sent = "" }) => sum + sent.length, this.text.length)
    const fits = longer.length <= LIMITS.answerBytes && gathered <= LIMITS.gatheredBytes
    modelClaim.sent = fits ? longer : undefined
  }

  override toString(): string {
    return `${this.which}.sent(${this.text.length})`
  }
}

interface AnswerVariant {
  readonly which: number
  readonly status: number
  readonly last: string
  readonly cutShort: boolean
  readonly fate: "written" | "undone" | "undone, then written"
}

class ModeledAnswer extends ClaimCommand {
  constructor(private readonly answering: AnswerVariant) {
    super(answering.which)
  }

  act({
    model,
    real,
    modelClaim,
    claim,
  }: {
    model: IdempotencyModel
    real: RegistryUnderTest
    modelClaim: ModelClaim
    claim: IdempotencyClaim
  }): void {
    const { status, last, cutShort, fate } = this.answering
    if (modelClaim.isAnswered) return
    const answered = () => claim.answered({ status, contentType: "text/plain", last: Buffer.from(last), cutShort })
    const undone = () => {
      answered()
      throw new Error("undone")
    }
    if (fate !== "written") expect(() => real.store.ledger.transaction(undone)).toThrow("undone")
    if (fate !== "undone") real.store.ledger.transaction(answered)
    if (fate === "undone" || status > 299) return
    modelClaim.isAnswered = true
    const whole = modelClaim.sent === undefined || cutShort ? undefined : modelClaim.sent + last
    remember(model, modelClaim, whole !== undefined && whole.length <= LIMITS.answerBytes ? whole : undefined)
  }

  override toString(): string {
    return `answered(${JSON.stringify(this.answering)})`
  }
}

function remember({ now, rows }: IdempotencyModel, { scope, input }: ModelClaim, answer: string | undefined): void {
  rows.delete(scope)
  const { tenant, bodyHash, requestId } = input
  rows.set(scope, { tenant, bodyHash, requestId, at: now, answer })
  for (const [old, { at }] of rows) if (now - at >= LIMITS.lifetimeMs) rows.delete(old)
  const all = (of?: string) => [...rows].filter(([, row]) => of === undefined || row.tenant === of)
  const bytes = (of?: string) => all(of).reduce((sum, [, row]) => sum + sizeOf(row), 0)
  const most = (sizeOf: (tenant: string) => number) =>
    [...TENANTS].sort((a, b) => sizeOf(b) - sizeOf(a) || (a < b ? 1 : -1))[0]
  const forget = (of?: string) => rows.delete(all(of)[0]?.[0] ?? "")
  const drop = (of?: string) => {
    const oldest = all(of).find(([, row]) => row.answer !== undefined)
    if (oldest) oldest[1].answer = undefined
  }
  while (all(tenant).length > LIMITS.ofTenant.rows) forget(tenant)
  while (all().length > LIMITS.ofAll.rows) forget(most((each) => all(each).length))
  while (bytes(tenant) > LIMITS.ofTenant.answerBytes) drop(tenant)
  while (bytes() > LIMITS.ofAll.answerBytes) drop(most(bytes))
}

function sizeOf({ answer }: ModelRow): number {
  return answer === undefined ? 0 : SEAL_BYTES + answer.length
}

class EndCommand extends ClaimCommand {
  act({
    model,
    real,
    modelClaim,
    claim,
  }: {
    model: IdempotencyModel
    real: RegistryUnderTest
    modelClaim: ModelClaim
    claim: IdempotencyClaim
  }): void {
    claim.end()
    model.claims = model.claims.filter((each) => each !== modelClaim)
    real.claims = real.claims.filter((each) => each !== claim)
  }

  override toString(): string {
    return `${this.which}.end()`
  }
}

class WaitCommand implements fc.Command<IdempotencyModel, RegistryUnderTest> {
  constructor(private readonly ms: number) {}

  check(): boolean {
    return true
  }

  run(model: IdempotencyModel, real: RegistryUnderTest): void {
    model.now += this.ms
    real.now += this.ms
  }

  toString(): string {
    return `wait(${this.ms})`
  }
}

class CrashCommand implements fc.Command<IdempotencyModel, RegistryUnderTest> {
  check(): boolean {
    return true
  }

  run(model: IdempotencyModel, real: RegistryUnderTest): void {
    model.claims = []
    real.dieAndStart()
  }

  toString(): string {
    return "die"
  }
}

const text = fc.string({ minLength: 0, maxLength: 24, unit: fc.constantFrom("a", "b") })
const KEYS = ["k1", "k2", "k3"]
const TENANTS = ["acme", "globex"]
const IDEMPOTENCY_KEYS = ["1", "2", "3"]
const asking = fc
  .record({
    keyId: fc.constantFrom(...KEYS),
    idempotencyKey: fc.constantFrom(...IDEMPOTENCY_KEYS),
    bodyHash: fc.oneof({ weight: 5, arbitrary: fc.constant("same") }, { weight: 1, arbitrary: fc.constant("other") }),
    keepsAnswer: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
    number: fc.nat(),
  })
  .map(({ number, ...input }) => {
    const tenant = input.keyId === "k1" ? "acme" : "globex"
    return new BeginCommand({ ...input, tenant, requestId: `r${number}` })
  })
const answering = fc
  .record({
    which: fc.nat(9),
    status: fc.oneof({ weight: 6, arbitrary: fc.constant(200) }, { weight: 1, arbitrary: fc.constant(500) }),
    last: text,
    cutShort: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    fate: fc.constantFrom<AnswerVariant["fate"]>("written", "written", "written", "undone", "undone, then written"),
  })
  .map((each) => new ModeledAnswer(each))
const commands = fc.commands(
  [
    asking,
    asking,
    asking,
    fc.tuple(fc.nat(9), text).map(([which, sent]) => new SentCommand(which, sent)),
    answering,
    answering,
    fc.nat(9).map((which) => new EndCommand(which)),
    fc.nat(9).map((which) => new EndCommand(which)),
    fc.integer({ min: 1, max: 60 }).map((ms) => new WaitCommand(ms)),
    fc.constant(new CrashCommand()),
  ],
  { maxCommands: 120, size: "max" },
)

test("the idempotency registry behaves as its model", () => {
  fc.assert(
    fc.property(commands, (all) => {
      const store = openMemory()
      try {
        fc.modelRun(
          () => ({ model: { now: NOON, rows: new Map(), claims: [] }, real: new RegistryUnderTest(store) }),
          all,
        )
      } finally {
        store.close()
      }
    }),
    { numRuns: 300 },
  )
})
