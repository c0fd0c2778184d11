// Kinds of failed attempts and their consequences: if another target may answer, and what the failure counts against.
import type { GatewayError } from "../canonical/gateway-error.ts"

interface FailureConsequence {
  /** Another target may answer. */
  readonly allowsFallback: boolean
  /** The cause: the target, the account it was called with, or neither. */
  readonly countsAgainst: "target" | "limit" | "account" | "no"
}

const FAILURES = {
  /** No connection, or one that broke before any status. */
  connect: { allowsFallback: true, countsAgainst: "target" },
  timeout: { allowsFallback: true, countsAgainst: "target" },
  /** 5xx, an error as the first event of a 200, or an invalid response. */
  server: { allowsFallback: true, countsAgainst: "target" },
  /** The gateway chose address and name: a missing or moved resource is a configuration error. */
  "not-found": { allowsFallback: true, countsAgainst: "target" },
  limited: { allowsFallback: true, countsAgainst: "limit" },
  credential: { allowsFallback: true, countsAgainst: "account" },
  /** The request is too long for this model's window. */
  context: { allowsFallback: true, countsAgainst: "no" },
  /** An internal error on the way there. */
  gateway: { allowsFallback: true, countsAgainst: "no" },
  caller: { allowsFallback: false, countsAgainst: "no" },
  /** A content policy refused the request. */
  refusal: { allowsFallback: false, countsAgainst: "no" },
  "client-gone": { allowsFallback: false, countsAgainst: "no" },
  stopping: { allowsFallback: false, countsAgainst: "no" },
} as const satisfies Readonly<Record<string, FailureConsequence>>

export type FailureKind = keyof typeof FAILURES

export const FAILURE_KINDS = Object.keys(FAILURES) as readonly FailureKind[]

export function allowsFallback(kind: FailureKind): boolean {
  return FAILURES[kind].allowsFallback
}

export function countsAgainst(kind: FailureKind): FailureConsequence["countsAgainst"] {
  return FAILURES[kind].countsAgainst
}

/** The kind of an attempt's error. A client that disconnected is not an error. */
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
