import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import fc from "fast-check"
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { Json } from "../../canonical/json.ts"
import type { Store } from "../../store/contract.ts"
import { openSqlite } from "../../store/sqlite/open-sqlite.ts"
import { encodeByteText } from "../../transport/json/byte-text.ts"
import { outlineJson } from "../../transport/json/json-scan.ts"
import { type ConversationCodec, responseId, type StoredResponseLimits, StoredResponses } from "./stored-responses.ts"

let store: Store
let now: number
let faults: unknown[]
beforeEach(() => {
  store = openSqlite(":memory:")
  now = 1_000_000
  faults = []
})
afterEach(() => store.close())

/** A protocol whose requests and answers are `{"text"}` objects. */
const wording: ConversationCodec = {
  inputOf: ({ text }) => JSON.stringify(JSON.parse(text).text),
  continued: ({ text }, items) => JSON.stringify({ ...JSON.parse(text), items: JSON.parse(`[${items}]`) }),
  resolved: ({ text }, items) => JSON.stringify({ ...JSON.parse(text), items: [...items] }),
  itemIdsIn: (text) => JSON.parse(text).ids ?? [],
  findItem: ({ response }, id) =>
    Array.isArray(response.ids) && response.ids.includes(id) ? response.text : undefined,
  itemsOf: ({ input, response }) => [input, response.text ?? null],
  answerIn: (bytes) => {
    const text = Buffer.from(bytes).toString("latin1")
    if (text === "unreadable") throw new Error("unreadable")
    return text.includes('"kept":true') ? text : undefined
  },
  listInput: ({ responseId: id, input }) => ({ id, input }),
}

const MARK = Buffer.from("sealed for ")

function opened(limits: Partial<StoredResponseLimits> = {}): StoredResponses {
  return new StoredResponses({
    table: store.responses,
    wording,
    seal: (plain, place) => Buffer.concat([MARK, Buffer.from(`${place}\n`), plain]),
    open: (sealed, place) => {
      const mark = `${MARK}${place}\n`
      const text = Buffer.from(sealed)
      return text.toString("latin1").startsWith(mark) ? text.subarray(mark.length) : undefined
    },
    onFault: (cause) => void faults.push(cause),
    now: () => now,
    limits,
  })
}

function requestText(message: string) {
  const text = encodeByteText(JSON.stringify({ text: message }))
  const outlined = outlineJson(text)
  if (!outlined) throw new Error("no object")
  return { text, outline: outlined }
}

let requests = 0

interface TestTurn {
  readonly tenant?: string
  readonly message?: string
  readonly before?: string
  readonly answer?: Json
}

/** Stores a turn as an exchange does; returns its id, stored or not. */
function keep(
  responses: StoredResponses,
  { tenant = "acme", message = "Hi", before = "", answer }: TestTurn = {},
): string {
  const requestId = `0190-${String(++requests).padStart(24, "0")}`
  const originOf = () => ({ provider: "p", account: 1, upstreamModel: "m" })
  const keeping = responses.begin({ tenant, requestId, request: requestText(message), before, originOf })
  const body = JSON.stringify(answer ?? { text: `${message}, too`, kept: true })
  keeping?.answered({ status: 200, contentType: "application/json", last: Buffer.from(body) })
  keeping?.end()
  return responseId(requestId)
}

function outcome(act: () => unknown): unknown {
  try {
    return act()
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown
    return [thrown.code, thrown.param].filter((each) => each !== undefined).join(" ")
  }
}

const GONE = "resource_not_found"

describe("an item of a stored response", () => {
  const refer = (responses: StoredResponses, ids: readonly string[], tenant = "acme") =>
    outcome(() => {
      const references = ids.map((id, index) => ({ index: index + 1, id }))
      const { text, origin } = responses.resolve(requestText("And?"), references, tenant)
      return { items: JSON.parse(text).items, origin }
    })

  test("an item of a stored response is inserted if a request names it by its id", () => {
    const responses = opened()
    keep(responses, { answer: { text: "one", ids: ["a", "b"], kept: true } })
    keep(responses, { answer: { text: "two", ids: ["c"], kept: true } })
    const origin = { provider: "p", account: 1, upstreamModel: "m" }
    expect(refer(responses, ["a", "c", "b"])).toEqual({
      items: [
        [1, "one"],
        [2, "two"],
        [3, "one"],
      ],
      origin,
    })
  })

  test("an item of a stored response is found only by its own tenant, while the response is stored", () => {
    const responses = opened({ lifetimeMs: 100 })
    const id = keep(responses, { answer: { text: "one", ids: ["a"], kept: true } })
    keep(responses, { answer: { text: "two", ids: ["b"], kept: true } })
    const gone = "invalid_parameter input[1].id"
    expect(refer(responses, ["a"], "globex")).toBe(gone)
    expect(refer(responses, ["c"])).toBe(gone)
    responses.remove(id, "acme")
    expect(refer(responses, ["a"])).toBe(gone)
    expect(refer(responses, ["b"])).toMatchObject({ items: [[1, "two"]] })
    now += 100
    expect(refer(responses, ["b"])).toBe(gone)
  })
})

describe("a stored response", () => {
  test("a stored response is found only by its own tenant", () => {
    const responses = opened()
    const id = keep(responses)
    expect(responses.find(id, "acme")).toEqual({ text: "Hi, too", kept: true })
    expect(responses.inputOf(id, "acme", new URLSearchParams())).toEqual({ id, input: "Hi" })
    expect(outcome(() => responses.find(id, "globex"))).toBe(GONE)
    expect(outcome(() => responses.conversation(id, "globex"))).toBe("invalid_parameter previous_response_id")
    expect(outcome(() => responses.remove(id, "globex"))).toBe(GONE)
  })

  test("a stored response keeps its whole conversation, oldest first, after the earlier responses are deleted", () => {
    const responses = opened()
    const first = keep(responses, { message: "Grüß Gott" })
    const { items: before } = responses.conversation(first, "acme")
    const second = keep(responses, { message: "And?", before })
    responses.remove(first, "acme")
    expect(outcome(() => responses.find(first, "acme"))).toBe(GONE)
    const { items, origin } = responses.conversation(second, "acme")
    expect(JSON.parse(`[${items}]`)).toEqual(["Grüß Gott", "Grüß Gott, too", "And?", "And?, too"])
    expect(origin).toEqual({ provider: "p", account: 1, upstreamModel: "m" })
    expect(items).toMatch(/^[\0-\x7f]*$/)
    expect(responses.continued(requestText("Next"), { items, origin })).toBe(
      JSON.stringify({ text: "Next", items: JSON.parse(`[${items}]`) }),
    )
  })

  test("a stored response is sealed for its tenant and id, and cannot be opened under another", () => {
    const responses = opened()
    const id = keep(responses)
    const row = store.responses.find("acme", id)
    if (!row) throw new Error("it is not there")
    store.responses.insert({ ...row, tenant: "globex" }, [])
    expect(outcome(() => responses.find(id, "globex"))).toBe(GONE)
  })

  test("a response is not stored if its answer forbids it, failed, was truncated, or cannot be read", () => {
    const responses = opened()
    const lasting = (answered: object, last = '{"kept":true}') => {
      const requestId = `0190-${String(++requests).padStart(24, "0")}`
      const keeping = responses.begin({
        tenant: "acme",
        requestId,
        request: requestText("x"),
        before: "",
        originOf: () => undefined,
      })
      keeping?.answered({ status: 200, contentType: "", last: Buffer.from(last), ...answered })
      return outcome(() => responses.find(responseId(requestId), "acme"))
    }
    expect(lasting({})).toEqual({ kept: true })
    expect(lasting({}, '{"kept":false}')).toBe(GONE)
    expect(lasting({ status: 500 })).toBe(GONE)
    expect(lasting({ cutShort: true })).toBe(GONE)
    expect(faults).toEqual([])
    expect(lasting({}, "unreadable")).toBe(GONE)
    expect(faults).toHaveLength(1)
    expect(lasting({}, '{"kept":true, oops')).toBe(GONE)
  })

  test("a response is stored in the ledger's transaction, or not at all", () => {
    const responses = opened()
    let id = ""
    const failing = () =>
      store.ledger.transaction(() => {
        id = keep(responses)
        throw new Error("the settlement fails")
      })
    expect(failing).toThrow("the settlement fails")
    expect(outcome(() => responses.find(id, "acme"))).toBe(GONE)
  })

  test("a stored response expires, and the next start or the next response deletes it", () => {
    const responses = opened({ lifetimeMs: 100 })
    const [first, second] = [keep(responses), keep(responses)]
    now += 99
    expect(responses.find(first, "acme")).toBeDefined()
    now += 1
    expect(outcome(() => responses.find(first, "acme"))).toBe(GONE)
    expect(outcome(() => responses.remove(first, "acme"))).toBe(GONE)
    expect(store.responses.find("acme", first)).toBeDefined()
    opened({ lifetimeMs: 100 }).dropExpired()
    expect(store.responses.find("acme", first) ?? store.responses.find("acme", second)).toBeUndefined()
  })
})

describe("storage limits", () => {
  test("an answer may be as large as the request leaves of the size limit", () => {
    const responses = opened({ responseBytes: 20 })
    const begun = (message: string, before = "") =>
      responses.begin({ tenant: "a", requestId: "r", request: requestText(message), before, originOf: () => undefined })
        ?.maxLength
    expect(begun("12345678")).toBe(10)
    expect(begun("12345678", "123456789")).toBe(1)
    expect(begun("12345678", "1234567890")).toBeUndefined()
  })

  test("requests in flight share the memory limit and free it when they end", () => {
    const responses = opened({ gatheredBytes: 25 })
    const begin = () =>
      responses.begin({
        tenant: "a",
        requestId: "r",
        request: requestText("12345678"),
        before: "",
        originOf: () => undefined,
      })
    const [first, second] = [begin(), begin()]
    expect(begin()).toBeUndefined()
    first?.end()
    first?.end()
    expect(begin()).toBeDefined()
    expect(begin()).toBeUndefined()
    second?.end()
    expect(begin()).toBeDefined()
  })
})

/** A response that the model expects, oldest first. */
interface ModeledResponse {
  readonly tenant: string
  readonly id: string
  readonly at: number
  readonly bytes: number
}

describe("any sequence of storing, deleting and waiting", () => {
  const LIMITS = { lifetimeMs: 50, ofTenant: { rows: 4, bytes: 900 }, ofAll: { rows: 6, bytes: 1500 } }
  const TENANTS = ["acme", "globex", "initech"]
  const tenant = fc.constantFrom(...TENANTS)
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ does: fc.constant("keep" as const), tenant, length: fc.nat(300) }) },
    { weight: 2, arbitrary: fc.record({ does: fc.constant("remove" as const), tenant, pick: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant("wait" as const), ms: fc.nat(30) }) },
  )

  /** The responses that the bounds leave, computed in the plainest way. */
  function bounded(known: readonly ModeledResponse[], newest: ModeledResponse): ModeledResponse[] {
    const within = (rows: readonly ModeledResponse[], { rows: most, bytes }: { rows: number; bytes: number }) =>
      rows.length <= most && rows.reduce((sum, each) => sum + each.bytes, 0) <= bytes
    let left = [...known]
    for (const name of TENANTS) {
      const own = () => left.filter((each) => each.tenant === name)
      while (!within(own(), LIMITS.ofTenant)) left = left.filter((each) => each !== own()[0])
    }
    while (!within(left, LIMITS.ofAll)) {
      const own = (name: string) => left.filter((each) => each.tenant === name)
      const bytesOf = (rows: readonly ModeledResponse[]) => rows.reduce((sum, each) => sum + each.bytes, 0)
      const size = (name: string) => (bytesOf(left) > LIMITS.ofAll.bytes ? bytesOf(own(name)) : own(name).length)
      const others = TENANTS.filter((name) => own(name).some((each) => each !== newest))
      const [most = newest.tenant] = others.sort((a, b) => size(b) - size(a) || (a < b ? 1 : -1))
      left = left.filter((each) => each !== own(most)[0])
    }
    return left
  }

  test("exactly the responses within the bounds, their lifetime and their tenant are found", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        store.close()
        store = openSqlite(":memory:")
        const responses = opened(LIMITS)
        let known: ModeledResponse[] = []
        const ever: ModeledResponse[] = []
        for (const each of steps) {
          if (each.does === "wait") now += each.ms
          else if (each.does === "keep") {
            const id = keep(responses, { tenant: each.tenant, message: "x".repeat(each.length) })
            const bytes = store.responses.find(each.tenant, id)?.sealed.length ?? Number.NaN
            const row = { tenant: each.tenant, id, at: now, bytes }
            ever.push(row)
            const alive = known.filter(({ at }) => at > now - LIMITS.lifetimeMs)
            known = bounded([...alive, row], row)
          } else {
            const chosen = ever[each.pick % Math.max(ever.length, 1)]
            if (!chosen) continue
            const isThere = known.some(({ id, at }) => id === chosen.id && at > now - LIMITS.lifetimeMs)
            const isOwn = isThere && chosen.tenant === each.tenant
            expect(outcome(() => responses.remove(chosen.id, each.tenant))).toBe(isOwn ? undefined : GONE)
            if (isOwn) known = known.filter(({ id }) => id !== chosen.id)
          }
          for (const { id, tenant: owner } of ever) {
            const isThere = known.some((row) => row.id === id && row.at > now - LIMITS.lifetimeMs)
            for (const asking of TENANTS) {
              const found = outcome(() => responses.find(id, asking))
              if (isThere && asking === owner) expect(found).toMatchObject({ kept: true })
              else expect(found).toBe(GONE)
            }
          }
        }
      }),
      { numRuns: 200 },
    )
  })
})
