import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { IdempotencyTable, Store } from "../../store/contract.ts"
import {
  type ClaimInput,
  expectClaim,
  expectReplay,
  openMemory,
  type RegistryOptions,
  registryOn,
  SEAL_BYTES,
} from "./idempotency.fixture.ts"
import type { IdempotencyRegistry } from "./idempotency.ts"

const DAY_MS = 24 * 60 * 60 * 1000
let store: Store
let now: number
let repeats: IdempotencyRegistry
beforeEach(() => {
  store = openMemory()
  now = Date.UTC(2026, 10, 15, 12)
  repeats = start()
})
afterEach(() => store.close())

/** The process begins, or begins anew after it died. */
function start(more: Partial<RegistryOptions> = {}): IdempotencyRegistry {
  return registryOn(store.idempotency, { now: () => now, ...more })
}

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (all: Uint8Array) => new TextDecoder().decode(all)
const claimInput = (more: Partial<ClaimInput> = {}): ClaimInput => ({
  ...{ keyId: "k1", tenant: "acme", idempotencyKey: "once", bodyHash: "body", requestId: "r1", keepsAnswer: false },
  ...more,
})
const JSON_TYPE = "application/json"

function answer(more: Partial<ClaimInput> = {}, text = "Hello."): void {
  const claim = expectClaim(repeats.begin(claimInput(more)))
  claim.answered({ status: 200, contentType: JSON_TYPE, last: bytes(text) })
  claim.end()
}

/** The code a repeat is refused with, or what it is. */
function outcome(more: Partial<ClaimInput> = {}): string {
  try {
    const begun = repeats.begin(claimInput({ requestId: "r2", ...more }))
    if ("body" in begun) return `${begun.requestId}: ${text(begun.body)}`
    begun.end()
    return "runs"
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown
    return thrown.code
  }
}

describe("a repeat", () => {
  test("while the first one runs is told to come again in a second", () => {
    const claim = expectClaim(repeats.begin(claimInput()))
    expect(() => repeats.begin(claimInput({ requestId: "r2" }))).toThrow(
      expect.objectContaining({ code: "idempotency_in_flight", retryAfterMs: 1000, mayRetry: true }) as Error,
    )
    claim.end()
    expect(outcome()).toBe("runs")
  })

  test("a repeat of an answered request gets the receipt and is asked not to retry", () => {
    answer()
    expect(() => repeats.begin(claimInput({ requestId: "r2" }))).toThrow(
      expect.objectContaining({
        code: "idempotency_replayed",
        message: expect.stringContaining("/v1/receipts/r1 "),
        mayRetry: false,
      }) as Error,
    )
  })

  test("with another body is a conflict, while the first one runs and after", () => {
    const claim = expectClaim(repeats.begin(claimInput()))
    expect(outcome({ bodyHash: "other" })).toBe("idempotency_conflict")
    claim.answered({ status: 200, contentType: JSON_TYPE })
    claim.end()
    expect(outcome({ bodyHash: "other" })).toBe("idempotency_conflict")
    expect(() => repeats.begin(claimInput({ bodyHash: "other" }))).toThrow(/a different request, r1\. Use a new key/)
  })

  test("with another API key, or another idempotency key, is no repeat", () => {
    answer()
    expect(outcome({ keyId: "k2" })).toBe("runs")
    expect(outcome({ idempotencyKey: "Once" })).toBe("runs")
    answer({ keyId: "k", idempotencyKey: "1 once" })
    expect(outcome({ keyId: "k 1", idempotencyKey: "once" })).toBe("runs")
  })

  test("runs when the first one has ended without an answer", () => {
    expectClaim(repeats.begin(claimInput())).end()
    expect(outcome()).toBe("runs")
  })

  test.each([199, 301, 400, 429, 503])("runs when the first one was answered with %p", (status) => {
    const claim = expectClaim(repeats.begin(claimInput({ keepsAnswer: true })))
    claim.answered({ status, contentType: JSON_TYPE, last: bytes("no") })
    claim.end()
    expect(outcome({ keepsAnswer: true })).toBe("runs")
  })

  test("runs again a day after the answer, and is billed and kept anew then", () => {
    answer({ keepsAnswer: true })
    now += DAY_MS - 1
    expect(outcome()).toBe("idempotency_replayed")
    now += 1
    expect(outcome({ bodyHash: "other" })).toBe("runs")
    answer({ requestId: "r3" })
    now += DAY_MS - 1
    expect(() => repeats.begin(claimInput({ keepsAnswer: true }))).toThrow("billed as r3")
  })

  test("a repeat is still one after the clock was set back by an hour", () => {
    answer()
    now -= 3_600_000
    expect(outcome()).toBe("idempotency_replayed")
    now += DAY_MS
    expect(outcome()).toBe("idempotency_replayed")
  })
})

describe("an idempotency key", () => {
  test.each(["a", "~".repeat(255), "0190f3c2-77a1-7c3e-9a63-0d5b2f9c1e4d", 'with "quotes", and spaces'])(
    "an idempotency key may be %p",
    (key) => {
      expect(outcome({ idempotencyKey: key })).toBe("runs")
    },
  )

  test.each(["", "x".repeat(256), "tab\there", "line\nend", "ключ", "\x7f"])(
    "an idempotency key may not be %p",
    (key) => {
      expect(() => repeats.begin(claimInput({ idempotencyKey: key }))).toThrow(
        expect.objectContaining({ code: "invalid_parameter", param: "Idempotency-Key" }) as Error,
      )
    },
  )

  test("an idempotency key is nowhere in the store, and neither is an answer as it was said", () => {
    const written: unknown[] = []
    const table = { ...store.idempotency, insert: (...row: unknown[]) => void written.push(...row) } as IdempotencyTable
    repeats = registryOn(table)
    answer({ idempotencyKey: "very-secret-key", keepsAnswer: true }, "very private answer")
    expect(written).toHaveLength(2)
    const values = written.flatMap((part) => Object.values(part as object))
    for (const value of values) {
      const rests = Buffer.from(value instanceof Uint8Array ? value : `${value}`)
      expect(rests.includes("very-secret-key")).toBe(false)
      expect(rests.includes("very private answer")).toBe(false)
    }
  })
})

describe("an answer that is kept", () => {
  const keeps = { keepsAnswer: true }

  test("an answer that is kept is given again byte for byte, with what it was", () => {
    const all = Uint8Array.from({ length: 70_000 }, (_, at) => at % 256)
    const claim = expectClaim(repeats.begin(claimInput(keeps)))
    for (let at = 0; at < 60_000; at += 7_000) claim.sent(all.subarray(at, Math.min(at + 7_000, 60_000)))
    claim.answered({ status: 201, contentType: "text/event-stream", last: all.subarray(60_000) })
    claim.end()
    const { requestId, status, contentType, body } = expectReplay(
      repeats.begin(claimInput({ ...keeps, requestId: "r2" })),
    )
    expect({ requestId, status, contentType }).toEqual({
      requestId: "r1",
      status: 201,
      contentType: "text/event-stream",
    })
    expect(Buffer.from(body).equals(all)).toBe(true)
  })

  test("an answer that is kept is what was said when it was sent, also where the sender uses its bytes again", () => {
    const claim = expectClaim(repeats.begin(claimInput(keeps)))
    const reused = bytes("one ")
    claim.sent(reused)
    reused.set(bytes("two "))
    claim.sent(reused)
    claim.answered({ status: 200, contentType: JSON_TYPE })
    claim.end()
    expect(outcome(keeps)).toBe("r1: one two ")
  })

  test("a stored answer may be empty", () => {
    answer(keeps, "")
    expect(outcome(keeps)).toBe("r1: ")
  })

  test("an answer that is kept is there after a restart", () => {
    answer(keeps)
    repeats = start()
    expect(outcome(keeps)).toBe("r1: Hello.")
  })

  test("an answer that is kept is not given to who keeps none any more, nor to who kept none then", () => {
    answer(keeps)
    expect(outcome()).toBe("idempotency_replayed")
    answer({ idempotencyKey: "other" })
    expect(outcome({ ...keeps, idempotencyKey: "other" })).toBe("idempotency_replayed")
  })

  test("an answer that is kept does not open with another secret, and is billed once all the same", () => {
    answer(keeps)
    repeats = start({ open: () => undefined })
    expect(outcome(keeps)).toBe("idempotency_replayed")
  })

  test("an answer that is kept does not open in another one's place", () => {
    answer(keeps)
    answer({ ...keeps, keyId: "k2" }, "Secret of k2.")
    let last: Uint8Array | undefined
    const moved: IdempotencyTable = {
      ...store.idempotency,
      findAnswer: (hash) => {
        const found = store.idempotency.findAnswer(hash)
        const swapped = found && { ...found, sealed: last ?? found.sealed }
        last = found?.sealed
        return swapped
      },
    }
    repeats = registryOn(moved, { now: () => now })
    expect(outcome({ ...keeps, keyId: "k2" })).toBe("r1: Secret of k2.")
    expect(outcome(keeps)).toBe("idempotency_replayed")
  })

  test("an answer that is kept is not the half that a client got which left, and that is billed once too", () => {
    const claim = expectClaim(repeats.begin(claimInput(keeps)))
    claim.sent(bytes("Hel"))
    claim.answered({ status: 200, contentType: JSON_TYPE, cutShort: true })
    claim.end()
    expect(outcome(keeps)).toBe("idempotency_replayed")
  })

  test("an answer that is kept has at most a mebibyte, in one piece or in several", () => {
    const MIB = 1024 * 1024
    const pieces: [sent: number[], last: number, isKept: boolean][] = [
      [[], MIB, true],
      [[], MIB + 1, false],
      [[MIB / 2, MIB / 2], 0, true],
      [[MIB / 2, MIB / 2 + 1], 0, false],
      [[MIB], 1, false],
      [[MIB + 1, 5], 5, false],
    ]
    for (const [index, [sent, last, isKept]] of pieces.entries()) {
      const which = claimInput({ ...keeps, idempotencyKey: `${index}` })
      const claim = expectClaim(repeats.begin(which))
      for (const length of sent) claim.sent(new Uint8Array(length))
      claim.answered({ status: 200, contentType: JSON_TYPE, last: new Uint8Array(last) })
      claim.end()
      if (isKept) expect(expectReplay(repeats.begin(which)).body).toHaveLength(MIB)
      else expect(outcome(which)).toBe("idempotency_replayed")
    }
  })

  test("an answer that is kept gives way to younger ones when there are too many bytes, and is billed once all the same", () => {
    repeats = start({ limits: { ofTenant: { rows: 99, answerBytes: 2 * (SEAL_BYTES + 6) } } })
    for (const idempotencyKey of ["1", "2", "3"]) answer({ ...keeps, idempotencyKey })
    const all = ["1", "2", "3"].map((idempotencyKey) => outcome({ ...keeps, idempotencyKey }))
    expect(all).toEqual(["idempotency_replayed", "r1: Hello.", "r1: Hello."])
  })

  test("an answer that is kept is not gathered where too much is gathered already, until others have ended", () => {
    repeats = start({ limits: { gatheredBytes: 10 } })
    const claims = ["1", "2"].map((idempotencyKey) =>
      expectClaim(repeats.begin(claimInput({ ...keeps, idempotencyKey }))),
    )
    for (const claim of claims) claim.sent(bytes("Hello."))
    for (const claim of claims) claim.answered({ status: 200, contentType: JSON_TYPE })
    for (const claim of claims) claim.end()
    expect(outcome({ ...keeps, idempotencyKey: "1" })).toBe("r1: Hello.")
    expect(outcome({ ...keeps, idempotencyKey: "2" })).toBe("idempotency_replayed")
    for (const idempotencyKey of ["3", "4", "5"]) {
      const claim = expectClaim(repeats.begin(claimInput({ ...keeps, idempotencyKey })))
      claim.sent(bytes("Hello."))
      claim.answered({ status: 200, contentType: JSON_TYPE })
      claim.end()
      expect(outcome({ ...keeps, idempotencyKey })).toBe("r1: Hello.")
    }
  })
})

test("a stream that exceeds the storage limit frees its memory for others", () => {
  const keeps = { keepsAnswer: true }
  repeats = start({ limits: { answerBytes: 10, gatheredBytes: 15 } })
  const [long, short] = ["long", "short"].map((idempotencyKey) =>
    expectClaim(repeats.begin(claimInput({ ...keeps, idempotencyKey }))),
  )
  long?.sent(bytes("0123456789"))
  long?.sent(bytes("!"))
  short?.sent(bytes("Hello."))
  short?.answered({ status: 200, contentType: JSON_TYPE })
  short?.end()
  expect(outcome({ ...keeps, idempotencyKey: "short" })).toBe("r1: Hello.")
})

describe("what is remembered", () => {
  const COUNT = 40
  const keys = Array.from({ length: COUNT }, (_, n) => `${n}`)
  const isThere = (idempotencyKey: string) => outcome({ idempotencyKey }) === "idempotency_replayed"

  test("what is remembered are so many and no more: the oldest are forgotten", () => {
    repeats = start({ limits: { ofTenant: { rows: 15, answerBytes: 1000 } } })
    for (const idempotencyKey of keys) answer({ idempotencyKey })
    expect(keys.filter(isThere)).toEqual(keys.slice(-15))
  })

  test("of a tenant stays, however much others bring, while it is not the one that has most", () => {
    const bounds = { rows: 10, answerBytes: 1000 }
    repeats = start({ limits: { ofTenant: bounds, ofAll: bounds } })
    const mine = { tenant: "small", keyId: "k9", keepsAnswer: true, idempotencyKey: "mine" }
    answer(mine)
    for (const idempotencyKey of keys) answer({ idempotencyKey, keepsAnswer: true }, "x".repeat(100))
    expect(outcome(mine)).toBe("r1: Hello.")
    expect(keys.filter(isThere)).toHaveLength(9)
  })

  test("what is remembered goes a few at a time when it is a day old, as others come in", () => {
    let left = 0
    const table: IdempotencyTable = {
      ...store.idempotency,
      dropBefore: (time, limit) => {
        const dropped = store.idempotency.dropBefore(time, limit)
        left -= dropped
        expect(dropped).toBeLessThanOrEqual(10)
        return dropped
      },
    }
    repeats = registryOn(table, { now: () => now })
    for (const idempotencyKey of keys) answer({ idempotencyKey })
    left = COUNT
    now += DAY_MS + 1
    for (const idempotencyKey of keys) answer({ idempotencyKey: `new ${idempotencyKey}` })
    expect(left).toBe(0)
  })
})

describe("when what settles it is undone", () => {
  test("a settlement that is rolled back and retried stores the same answer", () => {
    const claim = expectClaim(repeats.begin(claimInput({ keepsAnswer: true })))
    claim.sent(bytes("Hel"))
    const write = () => claim.answered({ status: 200, contentType: JSON_TYPE, last: bytes("lo.") })
    const undone = () => {
      write()
      throw new Error("somebody else's fault")
    }
    expect(() => store.ledger.transaction(undone)).toThrow("somebody else's")
    store.ledger.transaction(write)
    claim.end()
    expect(outcome({ keepsAnswer: true })).toBe("r1: Hello.")
  })

  test("for good, the key is free again", () => {
    const claim = expectClaim(repeats.begin(claimInput()))
    const undone = () => {
      claim.answered({ status: 200, contentType: JSON_TYPE })
      throw new Error("not settled")
    }
    expect(() => store.ledger.transaction(undone)).toThrow("not settled")
    expect(outcome()).toBe("idempotency_in_flight")
    claim.end()
    expect(outcome()).toBe("runs")
  })
})

test("a process that dies leaves nothing running", () => {
  expectClaim(repeats.begin(claimInput()))
  repeats = start()
  expect(outcome()).toBe("runs")
})

test("a second release of one request does not free the next request's claim", () => {
  const first = expectClaim(repeats.begin(claimInput()))
  first.end()
  const second = expectClaim(repeats.begin(claimInput({ requestId: "r2" })))
  first.end()
  expect(outcome({ requestId: "r3" })).toBe("idempotency_in_flight")
  second.end()
})
