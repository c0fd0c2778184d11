// Law: every opaque member of an answer has its vendor's format, so that strict decoders read it and the vendor accepts
// it back, whatever minter it came from.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { assembleResponse } from "../../src/canonical/chat/assemble-response.ts"
import type { SealedContent } from "../../src/canonical/chat/sealed-content.ts"
import type { PartStart, StreamEvent } from "../../src/canonical/chat/stream-event.ts"
import { fitNames } from "../../src/exchange/lanes/fit-names.ts"
import { type AnswerRestoration, restoreResponse, StreamRestorer } from "../../src/exchange/lanes/restore-answer.ts"
import { codecs } from "../../src/protocols.ts"
import { knownProviders } from "../../src/providers/provider-table.ts"

import { CALL_IDS, fits, opaqueFaults } from "./opaque-members.ts"
import { recordedAnswers, streamIn, wholeIn } from "./recorded-answers.ts"
import { vendorAnswers } from "./vendor-answers.ts"

const protocols = [...codecs.ingress.keys()]

const seals: fc.Arbitrary<SealedContent> = fc.record({
  mintedBy: fc.constantFrom("gemini-generate/google", "openai-responses/openai/main", "anthropic-messages/anthropic"),
  data: fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }),
})

/** Ids as vendors and hosts make them, and as they might. */
const ids = fc.oneof(
  fc.constantFrom(
    "call_1",
    "functions.get_weather:0",
    "toolu_01",
    "chatcmpl-tool-".padEnd(50, "9f"),
    "a b",
    "é",
    "x/y",
  ),
  fc.string({ minLength: 1, maxLength: 100 }),
)

interface PartSketch {
  readonly start: PartStart
  readonly text: string
  readonly sealed: SealedContent | undefined
}

const sketches: fc.Arbitrary<PartSketch> = fc.oneof(
  fc.record({ start: fc.constant<PartStart>({ kind: "text" }), text: fc.string(), sealed: fc.constant(undefined) }),
  fc.record({
    start: fc.constantFrom<PartStart>({ kind: "reasoning", form: "full" }, { kind: "reasoning", form: "summary" }),
    text: fc.string(),
    sealed: fc.option(seals, { nil: undefined }),
  }),
  fc.record({
    start: fc.constant<PartStart>({ kind: "reasoning", form: "hidden" }),
    text: fc.constant(""),
    sealed: seals,
  }),
  fc.record({ id: ids, sealed: fc.option(seals, { nil: undefined }), isEarly: fc.boolean() }).map((made) => ({
    start: {
      ...({ kind: "tool-call", id: made.id, name: "f", runsAt: "client" } as const),
      ...(made.isEarly && made.sealed && { sealed: made.sealed }),
    },
    text: "{}",
    sealed: made.sealed,
  })),
)

/** Answers with seals of any maker at any place. */
const sealedAnswers: fc.Arbitrary<StreamEvent[]> = fc.array(sketches, { maxLength: 6 }).map((parts) => [
  { type: "stream-start" },
  ...parts.flatMap(({ start, text, sealed }, part): StreamEvent[] => [
    { type: "part-start", candidate: 0, part, start },
    { type: "part-delta", candidate: 0, part, text },
    { type: "part-end", candidate: 0, part, ...(sealed && { sealed }) },
  ]),
  { type: "candidate-end", candidate: 0, finish: { reason: "stop" } },
  { type: "stream-end" },
])

function mendingFor(protocol: string): AnswerRestoration {
  return { names: new Map(), customs: new Set(), callId: codecs.ingress.get(protocol)?.callId }
}

/** The opaque members at fault of an answer to a client of this protocol, whole and streamed. */
function faultsIn(protocol: string, events: readonly StreamEvent[]): string[] {
  const mending = mendingFor(protocol)
  const mended = new StreamRestorer(mending)
  const stream = streamIn(
    protocol,
    events.flatMap((event) => mended.push(event)),
  )
  const whole = wholeIn(protocol, restoreResponse(assembleResponse(events), mending))
  return [whole, ...stream].flatMap((body) => opaqueFaults(protocol, body))
}

describe.each(protocols)("opaque members in %s", (protocol) => {
  test("opaque members of any answer have the vendor's format", () => {
    fc.assert(
      fc.property(sealedAnswers, (events) => {
        expect(faultsIn(protocol, events)).toEqual([])
      }),
      { numRuns: 300 },
    )
  })

  test("opaque members of every recorded exchange have the vendor's format", () => {
    const faults = recordedAnswers().flatMap(({ source, events }) =>
      faultsIn(protocol, events).map((fault) => `${source} ${fault}`),
    )
    expect(faults).toEqual([])
  })

  test("opaque members in the vendor's own recordings fit the table", () => {
    const faults = vendorAnswers(protocol).flatMap((answer) => opaqueFaults(protocol, answer))
    // Some recorders put words of their own in place of what was there.
    expect(faults.filter((fault) => !/sanitized|capture-id|sig-(?:first|second)/.test(fault))).toEqual([])
  })
})

test("no answer ends in a seal, from any provider", () => {
  fc.assert(
    fc.property(sealedAnswers, (events) => {
      const { content } = wholeIn("anthropic-messages", assembleResponse(events)) as { content: { type: string }[] }
      expect(content.at(-1)?.type).not.toBe("redacted_thinking")
      const blocks = streamIn("anthropic-messages", events).filter(({ type }) => type === "content_block_start")
      expect(JSON.stringify(blocks.at(-1)?.content_block ?? {})).not.toContain("redacted_thinking")
      const { output } = wholeIn("openai-responses", assembleResponse(events)) as {
        output: { type: string; summary?: unknown[] }[]
      }
      const last = output.at(-1)
      expect(last?.type === "reasoning" && last.summary?.length === 0 && !("content" in last)).toBe(false)
    }),
  )
})

describe("call ids in a request", () => {
  const forms = new Map([...codecs.upstream].map(([protocol, { callId }]) => [protocol, callId]))
  const mistral = knownProviders.find(({ id }) => id === "mistral")?.dialects["openai-chat"]?.callId
  if (mistral) forms.set("mistral", mistral)

  test("call ids in a request are tested for every protocol, and for Mistral", () => {
    expect([...forms.keys()].sort()).toEqual(Object.keys(CALL_IDS).sort())
  })

  test.each([...forms])("call ids fit the format of %s, and name the same call in its result", (protocol, callId) => {
    const format = CALL_IDS[protocol]
    if (!format) throw new Error(`no format for ${protocol}`)
    fc.assert(
      fc.property(ids, (id) => {
        const { request } = fitNames(
          {
            ...{ model: "a/b", instructions: [], tools: [], settings: {}, stream: false, routing: { fallback: [] } },
            turns: [
              { role: "assistant", parts: [{ kind: "tool-call", id, name: "f", arguments: "{}", runsAt: "client" }] },
              { role: "user", parts: [{ kind: "tool-result", callId: id, parts: [], isError: false }] },
            ],
          },
          { toolName: /^\w+$/, callId },
        )
        const [called, result] = request.turns.map(({ parts: [part] }) => part)
        const calledId = called?.kind === "tool-call" ? called.id : ""
        expect(fits(calledId, format)).toBe(true)
        expect(result?.kind === "tool-result" && result.callId).toBe(calledId)
      }),
    )
  })
})
