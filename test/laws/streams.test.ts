// Laws 2 to 4 across protocols: an encoded answer is decoded unchanged, whole or in pieces, in the protocol's order,
// and through any other protocol.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { assembleResponse } from "../../src/canonical/chat/assemble-response.ts"
import type { ChatResponse, ResponseCandidate } from "../../src/canonical/chat/chat-response.ts"
import type { StreamEvent } from "../../src/canonical/chat/stream-event.ts"
import { grammarFaults } from "../../src/protocols/chat/anthropic-messages/encode/stream-grammar.fixture.ts"
import { breaches } from "../../src/protocols/chat/gemini-generate/codec.fixture.ts"
import { checkGrammar as checkChat } from "../../src/protocols/chat/openai-chat/codec.fixture.ts"
import { checkGrammar as checkResponses } from "../../src/protocols/chat/openai-responses/encode/stream-grammar.fixture.ts"
import type { ClientResponseContext } from "../../src/protocols/chat-codec.ts"
import { codecs } from "../../src/protocols.ts"
import { decodeSse } from "../../src/transport/streams/sse.ts"
import { answers, citing, cutAt } from "./answers.ts"

interface StreamTraits {
  /** The violations of the protocol's order in a stream's frames; it may throw as well. */
  grammar(frames: readonly string[]): readonly string[]
  /** Whether a request can have more than one answer. */
  readonly several: boolean
  /** Whether a refusal is distinguished from other text. */
  readonly refuses: boolean
}

/** These checkers read a frame by a pattern that takes Unicode's line separators for the end of it. */
const checked = (check: (frames: readonly string[]) => void) => (frames: readonly string[]) => {
  check(frames.map((frame) => frame.replaceAll(/\xe2\x80[\xa8\xa9]/g, "---")))
  return []
}

const TRAITS: Readonly<Record<string, StreamTraits>> = {
  "openai-chat": { grammar: checked(checkChat), several: true, refuses: true },
  "openai-responses": { grammar: checked(checkResponses), several: false, refuses: true },
  "anthropic-messages": { grammar: (frames) => grammarFaults(frames.join("")), several: false, refuses: false },
  "gemini-generate": { grammar: breaches, several: true, refuses: false },
}

function traitsOf(protocol: string): StreamTraits {
  const traits = TRAITS[protocol]
  if (!traits) throw new Error(`no stream traits for ${protocol}`)
  return traits
}

function context(): ClientResponseContext {
  const request = { model: "a/b", tools: [], settings: {}, stream: true, routing: { fallback: [] } }
  const usual = { request, unixTime: 1_700_000_000, usageRequested: true, framing: "events", losses: [] } as const
  return { id: "abcdefghijklmnopqrstuvwx", model: "a/b", ...usual, losses: [] }
}

const DECODING = { id: "abcdefghijklmnopqrstuvwx", minter: "minter" }

function write(protocol: string, events: readonly StreamEvent[]): string[] {
  const writer = codecs.ingress.get(protocol)?.encodeStream(context())
  if (!writer) throw new Error(`no encoder for ${protocol}`)
  return [...events.flatMap((event) => writer.push(event)), ...writer.finish()]
}

function read(protocol: string, pieces: readonly string[]): StreamEvent[] {
  const decoder = codecs.upstream.get(protocol)?.decodeStream(DECODING)
  if (!decoder) throw new Error(`no decoder for ${protocol}`)
  const sse = decodeSse()
  const frames = [...pieces.flatMap((piece) => sse.push(piece)), ...sse.finish()]
  return [...frames.flatMap((frame) => decoder.push(frame)), ...decoder.finish()]
}

/** Assembles a stream. With a single answer, it is that of the first candidate in the stream. */
function foldFor(events: readonly StreamEvent[], { several }: StreamTraits): ChatResponse {
  const whole = assembleResponse(events)
  const first = events.find((event) => "candidate" in event)?.candidate
  return several ? whole : { ...whole, candidates: whole.candidates.filter(({ index }) => index === first) }
}

/** The content of an answer that every protocol can express. */
function contentOf({ candidates, usage }: ChatResponse, { several, refuses }: StreamTraits) {
  const { input = 0, cacheRead = 0, cacheWrite = 0, output = 0, reasoning = 0 } = usage ?? {}
  return {
    candidates: (several ? candidates : candidates.slice(0, 1)).map((each) => candidateContent(each, refuses)),
    usage: { read: input + cacheRead + cacheWrite, cached: cacheRead, written: output + reasoning },
  }
}

function candidateContent({ parts, finish }: ResponseCandidate, refuses: boolean) {
  const texts = { text: "", refusal: "", reasoning: "" }
  const calls: unknown[] = []
  for (const part of parts) {
    if (part.kind === "tool-call") calls.push({ id: part.id, name: part.name, input: JSON.parse(part.arguments) })
    else if (part.kind === "text" || part.kind === "reasoning") texts[part.kind] += part.text.replaceAll("\n", "")
    else if (part.kind === "refusal") texts[refuses ? "refusal" : "text"] += part.text
  }
  return { ...texts, calls, finish: endOf(finish?.reason, calls.length > 0) }
}

/** Each source once: some protocols list them separately from the text. */
function citedIn({ candidates: [answer] }: ChatResponse): string[] {
  const citations = answer?.parts.flatMap((part) => (part.kind === "text" ? (part.citations ?? []) : [])) ?? []
  return [...new Set(citations.map(({ url, title }) => `${title} at ${url}`))]
}

/** The finish reason as far as every protocol distinguishes it. */
function endOf(reason: string | undefined, calls: boolean): string {
  if (reason === "length") return reason
  if (reason === "filtered" || reason === "refusal") return "filtered"
  return calls ? "tool-calls" : "stop"
}

const clientProtocols = [...codecs.ingress.keys()]

describe.each(clientProtocols)("a stream in %s", (protocol) => {
  const traits = traitsOf(protocol)

  test("a stream obeys the protocol's order and is decoded to the same answer", () => {
    fc.assert(
      fc.property(answers, (events) => {
        const frames = write(protocol, events)
        expect(traits.grammar(frames)).toEqual([])
        const back = read(protocol, [frames.join("")])
        expect(back.at(-1)).toEqual({ type: "stream-end" })
        expect(contentOf(assembleResponse(back), traits)).toEqual(contentOf(foldFor(events, traits), traits))
      }),
      { numRuns: 300 },
    )
  })

  test("a stream is decoded alike at any cut of its bytes", () => {
    fc.assert(
      fc.property(answers, fc.array(fc.nat(), { minLength: 1, maxLength: 4 }), (events, places) => {
        const bytes = write(protocol, events).join("")
        const pieces = cutAt(
          bytes,
          places.map((place) => place % bytes.length),
        )
        expect(read(protocol, pieces)).toEqual(read(protocol, [bytes]))
      }),
      { numRuns: 150 },
    )
  })

  test("a stream has the same content as the whole answer", () => {
    const { encodeResponse } = codecs.ingress.get(protocol) ?? {}
    const { decodeResponse } = codecs.upstream.get(protocol) ?? {}
    fc.assert(
      fc.property(answers, (events) => {
        const body = encodeResponse?.(assembleResponse(events), context())
        const whole = body && decodeResponse?.(JSON.parse(JSON.stringify(body)), DECODING)
        if (!whole) throw new Error("it is no answer of the protocol")
        const streamed = assembleResponse(read(protocol, [write(protocol, events).join("")]))
        expect(contentOf(whole, traits)).toEqual(contentOf(streamed, traits))
      }),
      { numRuns: 150 },
    )
  })

  test("a stream has the citations of its last text, and so does the whole answer", () => {
    const { encodeResponse } = codecs.ingress.get(protocol) ?? {}
    const { decodeResponse } = codecs.upstream.get(protocol) ?? {}
    fc.assert(
      fc.property(citing, (events) => {
        const body = encodeResponse?.(assembleResponse(events), context())
        const whole = body && decodeResponse?.(JSON.parse(JSON.stringify(body)), DECODING)
        const streamed = assembleResponse(read(protocol, [write(protocol, events).join("")]))
        expect(citedIn(streamed)).toEqual(citedIn(assembleResponse(events)))
        expect(whole && citedIn(whole)).toEqual(citedIn(assembleResponse(events)))
      }),
    )
  })

  test.each(clientProtocols.filter((each) => each !== protocol))(
    "a stream is translated into %s without change",
    (other) => {
      const theirs = traitsOf(other)
      fc.assert(
        fc.property(answers, (events) => {
          const arrived = read(protocol, [write(protocol, events).join("")])
          const frames = write(other, arrived)
          expect(theirs.grammar(frames)).toEqual([])
          const again = assembleResponse(read(other, [frames.join("")]))
          expect(contentOf(again, theirs)).toEqual(contentOf(foldFor(arrived, theirs), theirs))
        }),
        { numRuns: 80 },
      )
    },
  )
})
