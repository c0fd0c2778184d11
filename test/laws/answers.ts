// Generated answers, event by event, in canonical form: the input of the laws of streams.
import fc from "fast-check"
import type { CandidateFinish } from "../../src/canonical/chat/chat-response.ts"
import type { Citation } from "../../src/canonical/chat/content-part.ts"
import type { PartStart, StreamEvent } from "../../src/canonical/chat/stream-event.ts"
import type { Usage } from "../../src/canonical/usage.ts"

/** Texts that JSON, UTF-8 and frames must get right. Paragraphs are how protocols join what others keep apart. */
const piece = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }).map((text) => text.replaceAll(/[\r\n]/g, "¶"))
const pieces = fc.array(piece, { minLength: 1, maxLength: 4 })

/** The events of a part in order; its numbers come later. */
type EventFactory = (part: { candidate: number; part: number }) => StreamEvent
type PartEvents = readonly EventFactory[]

function grown(start: PartStart, texts: readonly string[], end: Partial<{ sealed: object }> = {}): EventFactory[] {
  return [
    (at) => ({ type: "part-start", ...at, start }),
    ...texts.map(
      (text): EventFactory =>
        (at) => ({ type: "part-delta", ...at, text }),
    ),
    (at) => ({ type: "part-end", ...at, ...end }) as StreamEvent,
  ]
}

const citation: fc.Arbitrary<Citation> = fc.record({
  url: fc.constantFrom("https://a.example/1", "https://b.example/2"),
  title: fc.constantFrom("One", "Two"),
})

const text: fc.Arbitrary<PartEvents> = fc
  .tuple(pieces, fc.array(citation, { maxLength: 2 }))
  .map(([texts, citations]) => {
    const [begin, ...rest] = grown({ kind: "text" }, texts)
    const cites = citations.map(
      (each): EventFactory =>
        (at) => ({ type: "part-cite", ...at, citation: each }),
    )
    const end = rest.pop()
    return [begin, ...rest, ...cites, end].filter((doing) => doing !== undefined)
  })

const reasoning: fc.Arbitrary<PartEvents> = fc
  .record({ form: fc.constantFrom<("full" | "summary")[]>("full", "summary"), texts: pieces, sealed: fc.boolean() })
  .map(({ form, texts, sealed }) =>
    grown({ kind: "reasoning", form }, texts, sealed ? { sealed: { mintedBy: "minter", data: "c2VhbA==" } } : {}),
  )

const refusal: fc.Arbitrary<PartEvents> = pieces.map((texts) => grown({ kind: "refusal" }, texts))

/** Arguments are an object, cut anywhere. */
function call(id: string): fc.Arbitrary<PartEvents> {
  return fc
    .record({
      name: fc.stringMatching(/^[a-z]{3,8}$/),
      input: fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.oneof(piece, fc.integer(), fc.boolean())),
      cuts: fc.array(fc.nat(30), { maxLength: 3 }),
    })
    .map(({ name, input, cuts }) =>
      grown({ kind: "tool-call", id, name, runsAt: "client" }, cutAt(JSON.stringify(input), cuts)),
    )
}

/** The text in pieces that begin at these places. */
export function cutAt(whole: string, places: readonly number[]): string[] {
  const borders = [...new Set([0, ...places.filter((place) => place < whole.length)])].sort((a, b) => a - b)
  return borders.map((from, index) => whole.slice(from, borders[index + 1]))
}

const REASONS: readonly CandidateFinish["reason"][] = ["stop", "stop-sequence", "length", "filtered"]

const ended = (candidate: number, finish: CandidateFinish): StreamEvent => ({
  type: "candidate-end",
  candidate,
  finish,
})

/** Text and reasoning of one candidate are sequential; its calls are interleaved with them and with each other. */
function speaking(index: number): fc.Arbitrary<StreamEvent[]> {
  const texts = fc.array(fc.oneof(text, reasoning), { maxLength: 3 })
  const calls = fc.nat(3).chain((many) => fc.tuple(...Array.from({ length: many }, (_, at) => call(`c${index}_${at}`))))
  const order = fc.array(fc.nat(3), { maxLength: 60 })
  return fc.record({ texts, calls, order, reason: fc.constantFrom(...REASONS) }).map((made) => {
    const lanes = [made.texts.map((each) => [...each]), ...made.calls.map((each) => [[...each]])]
    const reason = made.calls.length > 0 && made.reason === "stop" ? "tool-calls" : made.reason
    const stopped = reason === "stop-sequence" ? { stopSequence: "END" } : {}
    return [...interleaved(lanes, { candidate: index, order: made.order }), ended(index, { reason, ...stopped })]
  })
}

function refusing(index: number): fc.Arbitrary<StreamEvent[]> {
  return fc
    .tuple(fc.array(reasoning, { maxLength: 1 }), refusal)
    .map(([thoughts, refused]) => [
      ...interleaved([[...thoughts, refused].map((each) => [...each])], { candidate: index, order: [] }),
      ended(index, { reason: "refusal" }),
    ])
}

const candidate = (index: number) =>
  fc.oneof({ weight: 9, arbitrary: speaking(index) }, { weight: 1, arbitrary: refusing(index) })

interface PartOrder {
  readonly candidate: number
  /** Which lane goes next; what is left over comes in turn. */
  readonly order: readonly number[]
}

/** Lanes side by side. Parts are numbered as they start. */
function interleaved(lanes: EventFactory[][][], { candidate: index, order }: PartOrder): StreamEvent[] {
  const events: StreamEvent[] = []
  const numbers = new Map<EventFactory[], number>()
  const step = (lane: EventFactory[][]) => {
    const [part] = lane
    const doing = part?.shift()
    if (!part || !doing) return
    if (!numbers.has(part)) numbers.set(part, numbers.size)
    events.push(doing({ candidate: index, part: numbers.get(part) ?? 0 }))
    if (part.length === 0) lane.shift()
  }
  for (const choice of order) step(lanes[choice % lanes.length] ?? [])
  for (const lane of lanes) while (lane.length > 0) step(lane)
  return events
}

const count = fc.nat(5000)
const usage: fc.Arbitrary<Usage> = fc.record({ input: count, cacheRead: count, output: count, reasoning: count })

/** Whole streams. */
export const answers: fc.Arbitrary<StreamEvent[]> = fc
  .record({
    candidates: fc.oneof(
      { weight: 3, arbitrary: candidate(0).map((only) => [only]) },
      { weight: 1, arbitrary: fc.tuple(candidate(0), candidate(1)) },
    ),
    order: fc.array(fc.nat(1), { maxLength: 40 }),
    early: fc.option(usage),
    late: fc.option(usage),
    foreign: fc.boolean(),
    id: fc.option(fc.stringMatching(/^[a-z0-9]{4,10}$/)),
  })
  .map(({ candidates, order, early, late, foreign, id }) => {
    const rest = candidates.map((events) => [...events])
    // With a single answer, it is that of the first candidate.
    const next: StreamEvent[] = rest[0]?.splice(0, 1) ?? []
    for (const choice of order) next.push(...(rest[choice % rest.length]?.splice(0, 1) ?? []))
    const strange: StreamEvent = { type: "foreign", protocol: "another", value: { type: "later" } }
    return [
      { type: "stream-start", ...(id !== null && { id }) } as const,
      ...(early ? [{ type: "usage", usage: early } as const] : []),
      ...(foreign ? [strange] : []),
      ...next,
      ...rest.flat(),
      ...(late ? [{ type: "usage", usage: late } as const] : []),
      { type: "stream-end" } as const,
    ]
  })

/** Answers that end in a text with sources. */
export const citing: fc.Arbitrary<StreamEvent[]> = fc
  .tuple(fc.array(reasoning, { maxLength: 1 }), text)
  .map(([thoughts, words]) => [
    { type: "stream-start" },
    ...interleaved([[...thoughts, words].map((each) => [...each])], {
      candidate: 0,
      order: [],
    }),
    ended(0, { reason: "stop" }),
    { type: "stream-end" },
  ])
