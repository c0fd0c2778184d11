// The load that every candidate gets: cases, concurrency and pace.
import { CONTENT_CHUNKS, cannedAnswers } from "./canned-answers.ts"
import { chatBody } from "./chat-body.ts"
import type { LoadPlan } from "./load-job.ts"
import type { BenchProtocol } from "./protocols.ts"

/** The upstream writes one piece of each stream in this many milliseconds. */
export const STREAM_PACE_MS = 4

/** Streams that all began at once would measure the queue at the door, not the delay of a first token. */
const STREAM_STAGGER_MS = 2

/** A gateway runs for weeks: what counts is its cost once the compiler has seen what it does, not while it looks. */
const WARM_UP_MS = 5000
const WARM_UP_STREAMS = 8

export type CaseName = "unary 1 KB" | "unary 50 KB" | "latency 1 KB" | "stream"

export type BenchCase = {
  name: CaseName
  kind: "unary" | "stream"
  path: string
  body: string
  connections: number
  plan: LoadPlan
  warmUp: LoadPlan
  minimumEvents: number
  endMark: string
  /** For streams: how many pieces the upstream writes. */
  pieces: number
}

type WorkloadOptions = {
  wire: BenchProtocol
  model: string
  quick: boolean
  only: "unary" | "stream" | undefined
  /** Whether some candidate writes the answer itself: with as many pieces, and the protocol's end of a stream. */
  translated: boolean
}

export function workload({ wire, model, quick, only, translated }: WorkloadOptions): BenchCase[] {
  const small = chatBody(wire, { model, bytes: 1024, stream: false })
  const large = chatBody(wire, { model, bytes: 50 * 1024, stream: false })
  const streamed = chatBody(wire, { model, bytes: 1024, stream: true })
  const closed: LoadPlan = { kind: "closed", durationMs: 700 }
  const warmUp: LoadPlan = { kind: "closed", durationMs: quick ? 500 : WARM_UP_MS }
  const paced: LoadPlan = { kind: "paced", perSecond: 1000, durationMs: 500 }
  const streams = { kind: "counted", perConnection: 1, staggerMs: STREAM_STAGGER_MS } as const
  const canned = cannedAnswers(wire.protocol)
  const { pieces } = canned
  const minimumEvents = translated ? CONTENT_CHUNKS : canned.minimumEvents
  const endMark = translated ? canned.endMark.slice(-3) : canned.endMark
  const expectation = { endMark, pieces: pieces.length }
  const path = wire.path({ model, stream: false })
  const unary = {
    kind: "unary",
    path,
    connections: 64,
    plan: closed,
    warmUp,
    minimumEvents: 0,
    ...expectation,
  } as const
  const cases: BenchCase[] = [
    { ...unary, name: "unary 1 KB", body: small },
    { ...unary, name: "unary 50 KB", body: large },
    { ...unary, name: "latency 1 KB", body: small, connections: 32, plan: paced, warmUp: paced },
    {
      name: "stream",
      kind: "stream",
      path: wire.path({ model, stream: true }),
      body: streamed,
      connections: 50,
      plan: streams,
      warmUp: { ...streams, perConnection: quick ? 1 : WARM_UP_STREAMS },
      minimumEvents,
      ...expectation,
    },
  ]
  return cases.filter((each) => only === undefined || each.kind === only)
}
