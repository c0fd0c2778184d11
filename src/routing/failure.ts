// What an attempt can fail with, and what follows from it: whether another target may answer, and what it says of this one.
import type { GatewayError } from "../canonical/error.ts"

interface Consequence {
  /** Another target may answer. */
  readonly movesOn: boolean
  /** What is to blame: the target, the account it was called with, or nothing of both. */
  readonly counts: "target" | "limit" | "account" | "no"
}

const FAILURES = {
  /** No connection, or one that broke, before any status came. */
  connect: { movesOn: true, counts: "target" },
  timeout: { movesOn: true, counts: "target" },
  /** 5xx, an error as the first event of a 200, an answer that is none. */
  server: { movesOn: true, counts: "target" },
  /** Address and name there are ours: what is not found, or has moved, is a fault of the configuration. */
  "not-found": { movesOn: true, counts: "target" },
  limited: { movesOn: true, counts: "limit" },
  credential: { movesOn: true, counts: "account" },
  /** Too long for this model's window. */
  context: { movesOn: true, counts: "no" },
  /** A fault of ours on the way there. */
  gateway: { movesOn: true, counts: "no" },
  caller: { movesOn: false, counts: "no" },
  /** By a policy on contents. */
  refusal: { movesOn: false, counts: "no" },
  "client-gone": { movesOn: false, counts: "no" },
  stopping: { movesOn: false, counts: "no" },
} as const satisfies Readonly<Record<string, Consequence>>

export type FailureKind = keyof typeof FAILURES

export const FAILURE_KINDS = Object.keys(FAILURES) as readonly FailureKind[]

export function movesOn(kind: FailureKind): boolean {
  return FAILURES[kind].movesOn
}

export function blames(kind: FailureKind): Consequence["counts"] {
  return FAILURES[kind].counts
}

/** What an error of an attempt is. A client that has left is not told of by errors. */
export function failureKind({ code, owner, upstreamStatus: status }: GatewayError): FailureKind {
  if (code === "shutting_down") return "stopping"
  if (code === "context_length_exceeded") return "context"
  if (owner === "caller") return code === "content_refused" ? "refusal" : "caller"
  if (code === "upstream_rate_limited") return "limited"
  if (code !== "upstream_unavailable") return "gateway"
  if (status === 404 || (status !== undefined && status < 400)) return "not-found"
  if (owner === "gateway") return "credential"
  if (status === undefined) return "connect"
  return status === 408 || status === 504 ? "timeout" : "server"
}
