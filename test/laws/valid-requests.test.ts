// Encoded requests are valid for their receiver: by the vendors' published descriptions and by their unwritten rules.
import { afterAll, describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { ChatRequest, ChatSettings } from "../../src/canonical/chat/chat-request.ts"
import { GatewayError } from "../../src/canonical/gateway-error.ts"
import type { JsonObject } from "../../src/canonical/json.ts"
import { fitNames } from "../../src/exchange/lanes/fit-names.ts"
import { translateRequest } from "../../src/exchange/lanes/translate-request.ts"
import type { UpstreamRequestContext } from "../../src/protocols/chat-codec.ts"
import { codecs, protocols } from "../../src/protocols.ts"
import { sampleSize } from "../recordings/recorded.ts"
import { conversations, MINTER, settings } from "./conversations.ts"
import { odd } from "./odd-conversations.ts"
import { ruleFaults } from "./request-rules.ts"
import { type ClientRequest, clientRequests, described, descriptionFaults } from "./wire.ts"

/** Why a request that its own vendor answered is refused; a plain conversation never is. */
const FOR_A_REASON: readonly RegExp[] = [
  // Accounts are shared, and what is stored in one is no caller's alone.
  /references an object in the provider's account/,
  /is stored at another provider|stored elsewhere|does not have/,
  // Fetching is off unless configured.
  /is an audio URL|is a file URL|does not fetch URLs/,
  /does not accept audio|is audio of type|is audio, which|does not accept video|is a video/,
  /has no stop sequences|asks for images|responses are text only|returns text only/,
  /selects a service tier without a price/,
  // The specification is narrower than the vendor here.
  /`tools` must be an array|is not a model's name|names no method/,
]

/** Members that a receiver accepts although its description lacks them, and the evidence. */
const WIDER: readonly { readonly fault: RegExp; readonly why: string }[] = [
  {
    fault: /^openresponses\.json \$\.(tools\[\d+\]|text\.format|reasoning\.effort)/,
    why: "it describes what all of its implementers share; OpenAI itself has more kinds of tools, formats and efforts",
  },
  {
    fault:
      /^openresponses\.json \$\.input\[\d+\]\.(type: .*"mcp_call"$|(server_label|name|arguments|output|error): unknown member)/,
    why: "it describes what all of its implementers share; OpenAI itself takes calls of remote servers' tools back",
  },
  {
    fault: /^anthropic\.json \$\.mcp_servers: unknown member/,
    why: "it describes what needs no beta header; remote servers are sent with theirs, and recordings have them",
  },
  {
    fault: /^openai\.yaml \$\.input\[\d+\]\.content\[\d+\]: none of the alternatives is \{"type":"output_text"/,
    why: "OpenAI's own agent sends the assistant's messages like this, without an id; no recording here shows it",
  },
]

/** Known faults of the gateway: each is to be fixed, and its line removed. */
const STANDING: readonly RegExp[] = []

const EXEMPT = [...WIDER.map(({ fault }) => fault), ...STANDING]
/** Those that some request needed. */
const met = new Set<RegExp>()

/** Models by whose names codecs choose settings. */
const MODELS: Readonly<Record<string, readonly string[]>> = {
  "anthropic-messages": ["claude-opus-4-6", "claude-sonnet-4-5"],
  "gemini-generate": ["gemini-3-pro", "gemini-2.5-flash", "gemini-2.0-flash"],
  "bedrock-converse": [
    "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "global.anthropic.claude-opus-5",
    "us.amazon.nova-2-lite-v1:0",
    "meta.llama3-3-70b-instruct-v1:0",
    "openai.gpt-oss-120b-1:0",
  ],
}

const modelsOf = (protocol: string): readonly string[] => MODELS[protocol] ?? ["up-1"]

function faultsOf(protocol: string, { body, model }: { body: JsonObject; model: string }): string[] {
  const found = [...descriptionFaults(protocol, body), ...ruleFaults(protocol, { body, model })]
  return found.filter((fault) => {
    const known = EXEMPT.find((pattern) => pattern.test(fault))
    if (known) met.add(known)
    return !known
  })
}

const refusals = new Map<string, number>()

function refused(protocol: string, reason: string): void {
  const row = `${protocol}: ${reason.replace(/\[\d+\]/g, "[]")}`
  refusals.set(row, (refusals.get(row) ?? 0) + 1)
}

afterAll(() => {
  if (!process.env.TRIVIUM_TEST_FIGURES) return
  for (const [row, count] of [...refusals].sort()) console.log(`${String(count).padStart(5)} refused, ${row}`)
})

/** Undefined if the request is rejected as inexpressible. */
function unlessRefused<Result>(protocol: string, encode: () => Result): Result | undefined {
  try {
    return encode()
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.owner !== "caller") throw thrown
    refused(protocol, thrown.message)
    return undefined
  }
}

type EffortSettings = NonNullable<UpstreamRequestContext["efforts"]>

/** The catalogue's properties of the models that accept the most. */
const MOST_EFFORTS: Readonly<Record<string, EffortSettings>> = {
  "openai-chat": ["none", "minimal", "low", "medium", "high", "xhigh"],
  "openai-responses": ["none", "minimal", "low", "medium", "high", "xhigh"],
  "anthropic-messages": ["low", "medium", "high", "xhigh", "max"],
  "gemini-generate": ["minimal", "low", "medium", "high"],
}

type EncodeOptions = Omit<UpstreamRequestContext, "losses">

/** Properties of a target that the catalogue may know. */
function contexts(protocol: string): fc.Arbitrary<EncodeOptions> {
  const known = fc.record(
    {
      efforts: fc.constantFrom<EffortSettings[]>(["low", "medium", "high"], MOST_EFFORTS[protocol] ?? ["high"]),
      thinkingTokens: fc.constantFrom({ min: 1024 }, { min: 1024, max: 24_576 }),
      fixedSampling: fc.constant(true),
    },
    { requiredKeys: [] },
  )
  const always = fc.record({
    model: fc.constantFrom(...modelsOf(protocol)),
    stream: fc.boolean(),
    streamUsage: fc.constantFrom<UpstreamRequestContext["streamUsage"][]>("ask", "sent"),
    minter: fc.constantFrom(MINTER, "another"),
    maxOutputTokens: fc.constantFrom(1500, 4096, 64_000),
    reasons: fc.boolean(),
  })
  return fc.tuple(always, known).map(([must, may]) => ({ ...must, ...may }) as EncodeOptions)
}

describe.each([...codecs.upstream])("a request encoded in %s", (protocol, upstream) => {
  const valid = (request: ChatRequest, context: EncodeOptions): "sent" | "refused" => {
    const body = unlessRefused(protocol, () =>
      upstream.encodeRequest(fitNames(request, upstream).request, { ...context, losses: [] }),
    )
    if (!body) return "refused"
    expect(faultsOf(protocol, { body: wired(body), model: context.model })).toEqual([])
    return "sent"
  }
  const holds = (request: ChatRequest, context: EncodeOptions) => void valid(request, context)

  test("a conversation is valid for its host and never rejected", () => {
    const plain = fc.property(conversations(), contexts(protocol), (request, context) => {
      expect(valid(request, context)).toBe("sent")
    })
    fc.assert(plain, { numRuns: 150 })
  })

  test("a request with every supported setting is valid", () => {
    // Those that are refused are tried where nothing is lost in silence.
    const isTaken = (name: string) => upstream.fates[name as keyof ChatSettings].fate !== "refused"
    const taken = settings.map((wished) => Object.fromEntries(Object.entries(wished).filter(([name]) => isTaken(name))))
    const wishing = fc.property(conversations({ settings: taken }), contexts(protocol), (request, context) => {
      expect(valid(request, context)).toBe("sent")
    })
    fc.assert(wishing, { numRuns: 200 })
  })

  test("a request with unusual but legal input is valid", () => {
    fc.assert(fc.property(odd(conversations()), contexts(protocol), holds), { numRuns: 200 })
  })
})

/** The body as it arrives, without undefined members. */
function wired(body: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(body))
}

/** The model that a recorded request is sent to, where one has to be chosen. */
const firstModel = (protocol: string) => modelsOf(protocol)[0] ?? ""

const pairs = [...codecs.ingress.keys()].flatMap((from) =>
  [...codecs.upstream.keys()].filter((to) => to !== from).map((to) => ({ from, to })),
)

describe("requests of real clients", () => {
  const all = clientRequests()

  test("requests of real clients cover every client protocol", () => {
    for (const from of codecs.ingress.keys()) {
      expect(all.filter(({ protocol }) => protocol === from).length).toBeGreaterThanOrEqual(sampleSize(80))
    }
  })

  for (const { from, to } of pairs) {
    test(`a real client's request in ${from} is valid in ${to}, except for known refusals`, () => {
      const wrong = all
        .filter(({ protocol }) => protocol === from)
        .flatMap((request) => translatedFaults(request, to).map((fault) => `${request.source}: ${fault}`))
      expect(wrong).toEqual([])
    })
  }
})

described("every exemption is needed", () => {
  expect(EXEMPT.filter((pattern) => !met.has(pattern))).toEqual([])
})

function translatedFaults({ protocol, body, envelope }: ClientRequest, to: string): string[] {
  const model = firstModel(to)
  const context = { stream: false, streamUsage: "ask", minter: MINTER, maxOutputTokens: 8192, reasons: true } as const
  const task = {
    from: protocol,
    to,
    envelope,
    kept: { calls: new Map(), texts: new Map() },
    context: { ...context, model },
  }
  try {
    protocols.find(({ id }) => id === protocol)?.readRequest(body, envelope)
    const translated = translateRequest(body, task, codecs)
    if ("wanted" in translated) throw new Error("the lane needs media and has no fetcher")
    return faultsOf(to, { body: JSON.parse(translated.body), model })
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.owner !== "caller") throw thrown
    refused(`${protocol} to ${to}`, thrown.message)
    return FOR_A_REASON.some((reason) => reason.test(thrown.message)) ? [] : [`refused: ${thrown.message}`]
  }
}
