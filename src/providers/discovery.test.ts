import { afterEach, describe, expect, test } from "bun:test"
import { eventually } from "../../test/stage/eventually.ts"
import type { ModelOffer, ProviderAccount } from "./contract.ts"
import { ModelDiscovery } from "./discovery.ts"

const offerOf = (...names: string[]): ModelOffer => ({
  models: names.map((name) => ({ name, kind: "chat", abilities: [] })),
  unnameable: 0,
  excess: 0,
})

interface PlayedHost {
  readonly account: ProviderAccount
  answers: (ModelOffer | Error | Promise<ModelOffer>)[]
  queries: number
}

/** A host that gives these answers, the last one repeatedly. */
function host(id: string, ...answers: PlayedHost["answers"]): PlayedHost {
  const played: PlayedHost = {
    answers,
    queries: 0,
    account: {
      ...{
        id,
        baseUrl: `http://${id}/v1`,
        isFree: true,
        reportsModel: false,
        saltsIdentifiers: true,
        credentialSource: "none",
        endpoints: {},
      },
      secrets: () => [],
      check: () => Promise.resolve({ verdict: "", sound: true }),
      listModels: async () => {
        played.queries++
        const answer = await (played.answers.length > 1 ? played.answers.shift() : played.answers[0])
        if (answer instanceof Error || !answer) throw answer
        return answer
      },
    },
  }
  return played
}

let discovery: ModelDiscovery
const offers: string[] = []
function open(): ModelDiscovery {
  offers.length = 0
  discovery = new ModelDiscovery({
    onOffer: ({ id }, { models }) => offers.push(`${id}: ${models.map(({ name }) => name)}`),
    onFailure: ({ id }, reason) => offers.push(`${id} fails: ${reason}`),
    firstPauseMs: 1,
    longestPauseMs: 4,
  })
  return discovery
}
afterEach(() => discovery.stop())

const names = ({ account }: PlayedHost) => discovery.offeredAt(account)?.map(({ name }) => name)

describe("a host", () => {
  test("a host that answers is queried once", async () => {
    const one = host("one", offerOf("a", "b"))
    open().follow([[one.account]])
    await eventually(() => offers.length === 1)
    await Bun.sleep(20)
    expect([offers, names(one), one.queries]).toEqual([["one: a,b"], ["a", "b"], 1])
  })

  test("a host that is down is reported once, queried again, and found when it answers", async () => {
    const down = new Error("no answer")
    const one = host("one", down, down, down, offerOf("a"))
    open().follow([[one.account]])
    await eventually(() => offers.length === 2)
    expect(offers).toEqual(["one fails: no answer", "one: a"])
    expect(one.queries).toBe(4)
  })

  test("a host without models is queried again", async () => {
    const one = host("one", offerOf(), offerOf(), offerOf("a"))
    open().follow([[one.account]])
    await eventually(() => offers.length === 2)
    expect(offers).toEqual(["one fails: it offers no models", "one: a"])
  })

  test("a host is queried through its first account only, and not at all without discovery", async () => {
    const [one, second] = [host("one", offerOf("a")), host("one", offerOf("a"))]
    const { listModels: _, ...plain } = host("plain", offerOf("a")).account
    open().follow([[one.account, second.account], [plain], []])
    await eventually(() => offers.length === 1)
    expect([one.queries, second.queries]).toEqual([1, 0])
  })
})

describe("discovery followed again", () => {
  test("following again queries a host again, and keeps its models until it answers", async () => {
    let answer = (_: ModelOffer) => {}
    const slow = new Promise<ModelOffer>((resolve) => {
      answer = resolve
    })
    const one = host("one", offerOf("a"), slow)
    open().follow([[one.account]])
    await eventually(() => offers.length === 1)
    discovery.follow([[one.account]])
    expect(names(one)).toEqual(["a"])
    answer(offerOf("b"))
    await eventually(() => offers.length === 2)
    expect(names(one)).toEqual(["b"])
  })

  test("a host that goes down keeps its models, one that lists none does not", async () => {
    const gone = host("gone", offerOf("a"), new Error("no answer"))
    const emptied = host("emptied", offerOf("a"), offerOf())
    open().follow([[gone.account], [emptied.account]])
    await eventually(() => offers.length === 2)
    discovery.follow([[gone.account], [emptied.account]])
    await eventually(() => offers.length === 5)
    expect([names(gone), names(emptied)]).toEqual([["a"], []])
  })

  test("a host at a new address is another host, and one that is left out is forgotten", async () => {
    const one = host("one", offerOf("a"))
    open().follow([[one.account]])
    await eventually(() => offers.length === 1)
    const moved = { ...host("one", new Error("no answer")).account, baseUrl: "http://elsewhere/v1" }
    discovery.follow([[moved]])
    expect([discovery.offeredAt(moved), names(one)]).toEqual([undefined, undefined])
  })

  test("an answer to an outdated query is ignored", async () => {
    let answer = (_: ModelOffer) => {}
    const late = new Promise<ModelOffer>((resolve) => {
      answer = resolve
    })
    const one = host("one", late, offerOf("new"))
    open().follow([[one.account]])
    discovery.follow([[one.account]])
    await eventually(() => offers.length === 1)
    answer(offerOf("old"))
    await Bun.sleep(5)
    expect([offers, names(one)]).toEqual([["one: new"], ["new"]])
  })
})

test("no server is queried after a stop", async () => {
  const one = host("one", new Error("no answer"))
  open().follow([[one.account]])
  await eventually(() => one.queries > 1)
  discovery.stop()
  const { queries } = one
  await Bun.sleep(20)
  expect(one.queries).toBe(queries)
})
