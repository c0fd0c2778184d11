// The relay lane is independent of the network's cuts and of the text's formatting. The real lane runs here without
// sockets, so that every cut of every stream can be tried.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { UNBOUNDED } from "../../src/access/grant.ts"
import { RetryBudget } from "../../src/exchange/attempt/retry-budget.ts"
import { UpstreamCalls } from "../../src/exchange/attempt/upstream-calls.ts"
import type { ResponseStream } from "../../src/exchange/client-response.ts"
import { SealCache } from "../../src/exchange/conversations/seal-cache.ts"
import { type ClientCall, DEFAULT_TIMEOUTS, type ExchangeDeps } from "../../src/exchange/exchange-deps.ts"
import { ExchangeProgress } from "../../src/exchange/record/exchange-progress.ts"
import type { ReservedExchange } from "../../src/exchange/reserved-exchange.ts"
import { answerStreamed } from "../../src/exchange/streams/answer-streamed.ts"
import { openaiChat } from "../../src/protocols/chat/openai-chat/openai-chat.ts"
import type { RequestSummary } from "../../src/protocols/contract.ts"
import { openAccount } from "../../src/providers/open-account.ts"
import { compatibleProviders } from "../../src/providers/provider-table.ts"
import { HealthMonitor } from "../../src/routing/health-monitor.ts"
import type { RoutingTable, Target } from "../../src/routing/route-plan.ts"
import { DeadlineTimer } from "../../src/transport/deadline-timer.ts"
import { SerialQueue } from "../../src/transport/event-loop/serial-queue.ts"
import { encodeByteText } from "../../src/transport/json/byte-text.ts"
import { outlineJson } from "../../src/transport/json/json-scan.ts"
import { asciiJson, type JsonEdit, spliceJson } from "../../src/transport/json/json-splice.ts"
import { ResendAllowance } from "../../src/transport/resend-allowance.ts"
import { jsonObject, memberText, type ObjectText, objectText, spelled } from "./json-text.ts"
import { REWRITTEN, STREAMS } from "./sse-streams.ts"

const deps: ExchangeDeps = {
  table: () => {
    throw new Error("the lane needs no table")
  },
  deadlines: new DeadlineTimer(),
  timeouts: DEFAULT_TIMEOUTS,
  upstreamCalls: new UpstreamCalls(),
  readLarge: () => Promise.reject(new Error("the lane reads no request")),
  translateLarge: () => Promise.reject(new Error("the lane translates nothing")),
  largeRequestQueue: new SerialQueue(),
  codecs: { ingress: new Map(), upstream: new Map() },
  sealCache: new SealCache(),
  ...unused(
    "ledger",
    "repeats",
    "tokens",
    "onUnwritten",
    "affinity",
    "rotation",
    "responses",
    "overruns",
    "identifiers",
  ),
  health: new HealthMonitor({ now: () => 0, chance: () => 0, onSetAside: () => {} }),
  retries: new RetryBudget(() => 0),
  chance: () => 0,
  onFault: (cause) => {
    throw cause
  },
}

/** The lane is tried without a bill. */
function unused<Name extends keyof ExchangeDeps>(...names: readonly Name[]): Pick<ExchangeDeps, Name> {
  return Object.fromEntries(names.map((name) => [name, {}])) as unknown as Pick<ExchangeDeps, Name>
}

const REQUEST = '{"model":"test/model","stream":true}'

/** The client's bytes if the upstream's bytes arrive in these pieces. */
async function relay(pieces: readonly string[], { usageRequested }: { usageRequested: boolean }): Promise<string> {
  const call: ClientCall = {
    protocol: openaiChat,
    envelope: { does: "generate", rest: "", query: "", headers: {} },
    caller: {
      ...UNBOUNDED,
      ...{ id: "", name: "", tenant: "", hint: "", addresses: null, keepAnswers: false, ownBalance: false },
      ...{ createdAt: 0, expiresAt: null, revokedAt: null, strictBalance: false, hedge: false, modelMap: null },
      ...{ tenantGrant: null, budgetsInForce: [], mayComeFrom: null },
    },
    allowance: { reserve: () => {}, correct: () => {} },
    modelsPath: "/v1/models",
    idempotencyKey: undefined,
    progress: new ExchangeProgress({ requestId: "request", route: "route" }),
    isGone: () => false,
    closeConnection: () => {},
    readBody: () => Promise.reject(new Error("the lane reads no body")),
    shrinkBody: () => {},
    releaseBody: () => {},
    finish: () => {},
  }
  const reading: RequestSummary = {
    operation: "chat",
    model: "test/model",
    stream: true,
    framing: "events",
    usageRequested,
    outputLimits: { candidates: 1 },
    routing: { fallback: [] },
    headers: {},
  }
  const outlined = outlineJson(REQUEST)
  if (!outlined) throw new Error("the request is an object")
  const request = { reading, text: REQUEST, outline: outlined, isAscii: true }
  const resends = new ResendAllowance()
  const exchange: ReservedExchange = {
    ...{ call, deps, table: {} as RoutingTable, request, targets: [target(pieces)] },
    ...{ chargeSession: undefined, session: undefined, hedges: false, resends },
  }
  const { body } = await answerStreamed(exchange)
  const stream = new ReadableStream(body as ResponseStream)
  return Buffer.from(await new Response(stream).arrayBuffer()).toString("latin1")
}

function target(pieces: readonly string[]): Target {
  const send = async () => new Response(streamOf(pieces))
  const [openaiCompatible] = compatibleProviders
  if (!openaiCompatible) throw new Error("there is a provider for any host")
  const account = openAccount(openaiCompatible, { id: "scripted", baseUrl: "", send })
  const endpoint = account.endpoints["openai-chat"]
  if (!endpoint) throw new Error("the provider speaks the protocol")
  return {
    model: {
      id: "test/model",
      displayName: "",
      version: "1",
      kind: "chat",
      status: "active",
      created: 0,
      modalities: { input: ["text"], output: ["text"] },
      capabilities: [],
      aliases: [],
      reasoning: false,
      targets: [],
    },
    account,
    upstreamModel: "upstream-model",
    protocol: "openai-chat",
    endpoint,
    pricing: undefined,
  }
}

function streamOf(pieces: readonly string[]): ReadableStream<Uint8Array> {
  const waiting = pieces.map((piece) => Buffer.from(piece, "latin1"))
  return new ReadableStream({
    pull(controller) {
      const next = waiting.shift()
      if (next) controller.enqueue(next)
      else controller.close()
    },
  })
}

for (const { name, sent, shown, hidden = shown } of STREAMS) {
  describe(name, () => {
    for (const [usageRequested, expected] of [
      [true, shown],
      [false, hidden],
    ] as const) {
      test(`a stream passes the same, cut at any byte, usage ${usageRequested ? "shown" : "hidden"}`, async () => {
        const wrong = []
        for (let cut = 0; cut < sent.length; cut++) {
          const pieces = [sent.slice(0, cut), sent.slice(cut)].filter((piece) => piece !== "")
          if ((await relay(pieces, { usageRequested })) !== expected) wrong.push(`…${sent.slice(cut - 12, cut)}|`)
        }
        expect(wrong).toEqual([])
      })
    }

    test("a stream passes the same byte by byte", async () => {
      expect(await relay([...sent], { usageRequested: false })).toBe(hidden)
    })
  })
}

/** The data of every event, as a client reads it. */
function eventsOf(text: string): string[] {
  const events: string[] = []
  let lines: string[] = []
  for (const line of text.replace(/^\xef\xbb\xbf/, "").split(/\r\n|\r|\n/)) {
    const [, data] = /^data: ?(.*)$/.exec(line) ?? []
    if (data !== undefined) lines.push(data)
    else if (line === "" && lines.length > 0) {
      events.push(lines.join("\n"))
      lines = []
    }
  }
  return events
}

for (const { name, sent, shown } of REWRITTEN) {
  test(`${name} has the same events, cut at any byte`, async () => {
    const expected = eventsOf(shown)
    for (let cut = 1; cut < sent.length; cut++) {
      const passed = await relay([sent.slice(0, cut), sent.slice(cut)], { usageRequested: false })
      expect(eventsOf(passed)).toEqual(expected)
    }
  })
}

describe("splicing random JSON texts", () => {
  const NAMES = ["model", "provider", "stream_options"]
  const values = fc.constantFrom("null", "1.0", '"x"', '{"routing" : "cost"}', "[ {} , [] ]")
  const space = fc.constantFrom("", " ", "\n\t")

  /** An object that contains the named members at any position, in any spelling. */
  const objects = fc
    .tuple(
      jsonObject({ reserved: NAMES }),
      fc.subarray(NAMES).chain((names) =>
        fc.tuple(
          ...names.map((name) =>
            fc.record({
              before: space,
              name: spelled(name),
              colon: fc.constantFrom(":", " : ", "\n:"),
              value: values,
              after: space,
              at: fc.nat(),
            }),
          ),
        ),
      ),
    )
    .map(([object, owned]): ObjectText => {
      const members = [...object.members]
      for (const { at, ...member } of owned) members.splice(at % (members.length + 1), 0, member)
      return { ...object, members }
    })

  const nameOf = ({ name }: { name: string }): string => JSON.parse(name)
  const spliced = (object: ObjectText, edits: readonly JsonEdit[]) =>
    Buffer.from(spliceJson(encodeByteText(objectText(object)), edits), "latin1").toString("utf8")

  test("setting a member changes its value and no other byte", () => {
    fc.assert(
      fc.property(objects, fc.string(), (object, value) => {
        const set = asciiJson(value)
        fc.pre(object.members.some((member) => nameOf(member) === "model"))
        const result = spliced(object, [{ path: ["model"], set }])
        const changed = object.members.map((member) =>
          nameOf(member) === "model" ? { ...member, value: set } : member,
        )
        expect(result).toBe(objectText({ ...object, members: changed }))
        expect(JSON.parse(result).model).toBe(value)
      }),
      { numRuns: 2000 },
    )
  })

  test("removing or adding members leaves the others as written", () => {
    fc.assert(
      fc.property(objects, fc.subarray(NAMES), fc.subarray(NAMES), (object, removed, wanted) => {
        const added = wanted.filter((name) => !removed.includes(name))
        const edits: JsonEdit[] = [
          ...removed.map((name) => ({ path: [name], remove: true }) as const),
          ...added.map((name) => ({ path: [name], set: '"new"' })),
        ]
        const result = spliced(object, edits)
        const kept = object.members.filter((member) => !removed.includes(nameOf(member)))
        const written = kept.map((member) =>
          memberText(added.includes(nameOf(member)) ? { ...member, value: '"new"' } : member),
        )
        const fresh = added.filter((name) => !kept.some((member) => nameOf(member) === name))
        const expected = [...written, ...fresh.map((name) => `"${name}":"new"`)]
        expect(between(result, expected)).toBe("sound")
        expect(() => JSON.parse(result)).not.toThrow()
      }),
      { numRuns: 2000 },
    )
  })

  /** Whether a text is these members in this order, with only a comma and white space between two of them. */
  function between(text: string, members: readonly string[]): string {
    let at = 0
    for (const [index, member] of members.entries()) {
      const found = text.indexOf(member, at)
      const gap = text.slice(at, found < 0 ? text.length : found)
      const border = index === 0 ? /^\s*\{\s*$/ : /^\s*,\s*$/
      if (found < 0 || !border.test(gap)) return `${JSON.stringify(gap)} before ${member}`
      at = found + member.length
    }
    const rest = text.slice(at)
    return (members.length === 0 ? /^\s*\{\s*\}\s*$/ : /^\s*\}\s*$/).test(rest) ? "sound" : JSON.stringify(rest)
  }

  test("setting a nested member changes no byte outside its parent", () => {
    const inner = jsonObject({ reserved: ["include_usage"] })
    fc.assert(
      fc.property(objects, inner, (object, options) => {
        const others = object.members.filter((member) => nameOf(member) !== "stream_options")
        const parent = { before: " ", name: '"stream_options"', colon: " :\t", value: objectText(options), after: "" }
        const whole = { ...object, members: [...others, parent] }
        const result = spliced(whole, [{ path: ["stream_options", "include_usage"], set: "true" }])
        const start = objectText({ ...whole, members: [...others, { ...parent, value: "" }] })
        const border = start.length - 1 - whole.after.length
        expect(result.startsWith(start.slice(0, border))).toBe(true)
        expect(result.endsWith(start.slice(border))).toBe(true)
        const child = result.slice(border, result.length - (start.length - border))
        expect(between(child, [...options.members.map(memberText), '"include_usage":true'])).toBe("sound")
      }),
      { numRuns: 1000 },
    )
  })
})

test("a stream of any text passes the same in any pieces", async () => {
  const event = (content: string) => {
    const choices = [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }]
    return `{"choices":${JSON.stringify(choices)},"model":"upstream-model"}`
  }
  const stop = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
  const words = fc.array(fc.string({ unit: "grapheme", minLength: 1 }), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(words, fc.constantFrom("\n", "\r"), fc.array(fc.nat()), async (contents, end, cuts) => {
      const text = [...contents.map(event), stop, "[DONE]"].map((data) => `data: ${data}${end}${end}`).join("")
      const bytes = encodeByteText(text)
      const places = [...new Set(cuts.map((cut) => cut % bytes.length))].sort((a, b) => a - b)
      const pieces = [0, ...places].map((from, index) => bytes.slice(from, places[index] ?? bytes.length))
      const passed = await relay(
        pieces.filter((piece) => piece !== ""),
        { usageRequested: false },
      )
      expect(passed).toBe(bytes.replaceAll('"model":"upstream-model"', '"model":"test/model"'))
    }),
    { numRuns: 300 },
  )
})
