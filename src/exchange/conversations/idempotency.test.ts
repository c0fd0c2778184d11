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

/** Starts the registry on the store, as after a restart. */
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

/** The error code of a refused repeat, or its outcome. */
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

describe("a repeated request", () => {
  test("a repeat of a running request gets a retry delay of one second", () => {
    const claim = expectClaim(repeats.begin(claimInput()))
    expect(() => repeats.begin(claimInput({ requestId: "r2" }))).toThrow(
      expect.objectContaining({ code: "idempotency_in_flight", retryAfterMs: 1000, mayRetry: true }) as Error,
    )
    claim.end()
    expect(outcome()).toBe("runs")
  })

  test("a repeat of an answered request gets the receipt and must not be retried", () => {
    answer()
    expect(() => repeats.begin(claimInput({ requestId: "r2" }))).toThrow(
      expect.objectContaining({
        code: "idempotency_replayed",
        message: expect.stringContaining("/v1/receipts/r1 "),
        mayRetry: false,
      }) as Error,
    )
  })

  test("a repeat with another body is a conflict, while the first runs and after", () => {
    const claim = expectClaim(repeats.begin(claimInput()))
    expect(outcome({ bodyHash: "other" })).toBe("idempotency_conflict")
    claim.answered({ status: 200, contentType: JSON_TYPE })
    claim.end()
    expect(outcome({ bodyHash: "other" })).toBe("idempotency_conflict")
    expect(() => repeats.begin(claimInput({ bodyHash: "other" }))).toThrow(/a different request, r1\. Use a new key/)
  })

  test("a request with another API key or another idempotency key is no repeat", () => {
    answer()
    expect(outcome({ keyId: "k2" })).toBe("runs")
    expect(outcome({ idempotencyKey: "Once" })).toBe("runs")
    answer({ keyId: "k", idempotencyKey: "1 once" })
    expect(outcome({ keyId: "k 1", idempotencyKey: "once" })).toBe("runs")
  })

  test("a repeat runs if the first ended without an answer", () => {
    expectClaim(repeats.begin(claimInput())).end()
    expect(outcome()).toBe("runs")
  })

  test.each([199, 301, 400, 429, 503])("a repeat runs if the first was answered with %p", (status) => {
    const claim = expectClaim(repeats.begin(claimInput({ keepsAnswer: true })))
    claim.answered({ status, contentType: JSON_TYPE, last: bytes("no") })
    claim.end()
    expect(outcome({ keepsAnswer: true })).toBe("runs")
  })

  test("a repeat runs a day after the answer, and is billed and stored again", () => {
    answer({ keepsAnswer: true })
    now += DAY_MS - 1
    expect(outcome()).toBe("idempotency_replayed")
    now += 1
    expect(outcome({ bodyHash: "other" })).toBe("runs")
    answer({ requestId: "r3" })
    now += DAY_MS - 1
    expect(() => repeats.begin(claimInput({ keepsAnswer: true }))).toThrow("billed as r3")
  })

  test("a repeat is still recognised after the clock was set back by an hour", () => {
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

  test("neither an idempotency key nor a readable answer is in the store", () => {
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

describe("a stored answer", () => {
  const keeps = { keepsAnswer: true }

  test("a stored answer is replayed byte for byte, with its status and content type", () => {
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

  test("a stored answer keeps the bytes as sent, even if the sender reuses its buffer", () => {
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

  test("a stored answer survives a restart", () => {
    answer(keeps)
    repeats = start()
    expect(outcome(keeps)).toBe("r1: Hello.")
  })

  test("a stored answer is replayed only if the key stores answers now and did so then", () => {
    answer(keeps)
    expect(outcome()).toBe("idempotency_replayed")
    answer({ idempotencyKey: "other" })
    expect(outcome({ ...keeps, idempotencyKey: "other" })).toBe("idempotency_replayed")
  })

  test("a stored answer cannot be opened with another secret, and is still billed once", () => {
    answer(keeps)
    repeats = start({ open: () => undefined })
    expect(outcome(keeps)).toBe("idempotency_replayed")
  })

  test("a stored answer cannot be opened under another key's id", () => {
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

  test("the partial answer of a client that left is not stored, and is billed once", () => {
    const claim = expectClaim(repeats.begin(claimInput(keeps)))
    claim.sent(bytes("Hel"))
    claim.answered({ status: 200, contentType: JSON_TYPE, cutShort: true })
    claim.end()
    expect(outcome(keeps)).toBe("idempotency_replayed")
  })

  test("a stored answer has at most one mebibyte, in one piece or in several", () => {
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

  test("the oldest stored answers are dropped at the byte limit, and are still billed once", () => {
    repeats = start({ limits: { ofTenant: { rows: 99, answerBytes: 2 * (SEAL_BYTES + 6) } } })
    for (const idempotencyKey of ["1", "2", "3"]) answer({ ...keeps, idempotencyKey })
    const all = ["1", "2", "3"].map((idempotencyKey) => outcome({ ...keeps, idempotencyKey }))
    expect(all).toEqual(["idempotency_replayed", "r1: Hello.", "r1: Hello."])
  })

  test("an answer is not buffered for storage while too many bytes are buffered already", () => {
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

describe("stored idempotency keys", () => {
  const COUNT = 40
  const keys = Array.from({ length: COUNT }, (_, n) => `${n}`)
  const isThere = (idempotencyKey: string) => outcome({ idempotencyKey }) === "idempotency_replayed"

  test("stored idempotency keys are bounded, and the oldest are dropped", () => {
    repeats = start({ limits: { ofTenant: { rows: 15, answerBytes: 1000 } } })
    for (const idempotencyKey of keys) answer({ idempotencyKey })
    expect(keys.filter(isThere)).toEqual(keys.slice(-15))
  })

  test("a tenant's stored keys stay while another tenant has more", () => {
    const bounds = { rows: 10, answerBytes: 1000 }
    repeats = start({ limits: { ofTenant: bounds, ofAll: bounds } })
    const mine = { tenant: "small", keyId: "k9", keepsAnswer: true, idempotencyKey: "mine" }
    answer(mine)
    for (const idempotencyKey of keys) answer({ idempotencyKey, keepsAnswer: true }, "x".repeat(100))
    expect(outcome(mine)).toBe("r1: Hello.")
    expect(keys.filter(isThere)).toHaveLength(9)
  })

  test("stored keys older than a day are dropped a few at a time as new ones arrive", () => {
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

describe("a settlement that is rolled back", () => {
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

  test("a settlement that is rolled back for good frees the idempotency key", () => {
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

test("a process that dies leaves no running claim", () => {
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
