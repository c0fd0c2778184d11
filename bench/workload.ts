// What every candidate is put through, and how hard.
import { MINIMUM_STREAM_EVENTS } from "./canned-answers.ts"
import { chatBody } from "./chat-body.ts"
import type { LoadPlan } from "./load-job.ts"

/** The upstream writes one piece of each stream in this many milliseconds. */
export const STREAM_PACE_MS = 4

/** Streams that all began at once would measure the queue at the door, not the delay of a first token. */
const STREAM_STAGGER_MS = 2

/** A gateway runs for weeks: what counts is its cost once the compiler has seen what it does, not while it looks. */
const WARM_UP_MS = 5000
const WARM_UP_STREAMS = 8

export type CaseName = "unary 1 KB" | "unary 50 KB" | "latency 1 KB" | "stream"

export type Case = {
  name: CaseName
  kind: "unary" | "stream"
  body: string
  connections: number
  plan: LoadPlan
  warmUp: LoadPlan
  minimumEvents: number
}

type WorkloadOptions = { model: string; quick: boolean; only: "unary" | "stream" | undefined }

export function workload({ model, quick, only }: WorkloadOptions): Case[] {
  const small = chatBody({ model, bytes: 1024, stream: false })
  const large = chatBody({ model, bytes: 50 * 1024, stream: false })
  const streamed = chatBody({ model, bytes: 1024, stream: true })
  const closed: LoadPlan = { kind: "closed", durationMs: 700 }
  const warmUp: LoadPlan = { kind: "closed", durationMs: quick ? 500 : WARM_UP_MS }
  const paced: LoadPlan = { kind: "paced", perSecond: 1000, durationMs: 500 }
  const streams = { kind: "counted", perConnection: 1, staggerMs: STREAM_STAGGER_MS } as const
  const unary = { kind: "unary", connections: 64, plan: closed, warmUp, minimumEvents: 0 } as const
  const cases: Case[] = [
    { ...unary, name: "unary 1 KB", body: small },
    { ...unary, name: "unary 50 KB", body: large },
    { ...unary, name: "latency 1 KB", body: small, connections: 32, plan: paced, warmUp: paced },
    {
      name: "stream",
      kind: "stream",
      body: streamed,
      connections: 50,
      plan: streams,
      warmUp: { ...streams, perConnection: quick ? 1 : WARM_UP_STREAMS },
      minimumEvents: MINIMUM_STREAM_EVENTS,
    },
  ]
  return cases.filter((each) => only === undefined || each.kind === only)
}
