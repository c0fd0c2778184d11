// A plain reference of the plan and of the attempts along it: health is only in or out, without rotation or speed.
import type { RoutingStrategy } from "../../src/canonical/chat/chat-request.ts"
import type { FailureKind } from "../../src/routing/failure-kind.ts"

export interface ReferenceTarget {
  readonly provider: string
  /** The number of credentials. */
  readonly accounts: number
  readonly priority: number
  readonly weight: number
  /** Whether it has the client's protocol. */
  readonly isAlike: boolean
  readonly price: number
  /** Undefined without an answer so far. */
  readonly latencyMs: number | undefined
  readonly precision: "bf16" | "fp8" | "int4"
  readonly isOut: boolean
}

export interface ReferenceEntry {
  readonly name: string
  readonly places: readonly ReferenceTarget[]
}

export type ReferenceOutcome = "answered" | "exhausted" | FailureKind

/** Those that are tried, such as `m@one/0` for the first account, in order. */
export function trials(entries: readonly ReferenceEntry[], strategy: RoutingStrategy | undefined): string[] {
  const lists = entries.slice(0, 6).map((entry) => ({
    live: namesOf(entry, bestFirst(entry.places, strategy)).filter(({ isOut }) => !isOut),
    all: namesOf(entry, byWeight(entry.places)),
  }))
  const healthy = lists.filter(({ live }) => live.length > 0)
  const lost = lists.filter(({ live, all }) => live.length === 0 && all.length > 0)
  // Each name gets one; the rest of eight goes to the first that can use it, up to three.
  let left = 8 - healthy.length - lost.length
  const tried = healthy.flatMap(({ live }) => {
    const more = Math.min(left, Math.min(3, live.length) - 1)
    left -= more
    return taken(live, 1 + more)
  })
  return [...tried, ...lost.flatMap(({ all }) => all.slice(0, 1))].map(({ name }) => name)
}

interface NamedTarget {
  readonly name: string
  readonly provider: string
  readonly isOut: boolean
}

function namesOf({ name }: ReferenceEntry, places: readonly ReferenceTarget[]): NamedTarget[] {
  return places.flatMap(({ provider, accounts, isOut }) =>
    Array.from({ length: accounts }, (_, index) => ({ name: `${name}@${provider}/${index}`, provider, isOut })),
  )
}

/** All accounts of a provider fail together, so the last is another's where there is one. */
function taken(live: readonly NamedTarget[], count: number): readonly NamedTarget[] {
  const first = live.slice(0, count)
  const other = live.find(({ provider }) => provider !== first[0]?.provider)
  const isMixed = first.some(({ provider }) => provider !== first[0]?.provider)
  return count < 2 || isMixed || !other ? first : [...first.slice(0, -1), other]
}

function byWeight(places: readonly ReferenceTarget[]): ReferenceTarget[] {
  return places.toSorted((one, other) => one.priority - other.priority || other.weight - one.weight)
}

function asConfigured(places: readonly ReferenceTarget[]): ReferenceTarget[] {
  const byFirst = (one: ReferenceTarget, other: ReferenceTarget) =>
    one.priority - other.priority || other.weight - one.weight || Number(other.isAlike) - Number(one.isAlike)
  return places.toSorted(byFirst)
}

const COARSENESS = { bf16: 0, fp8: 1, int4: 2 }

function bestFirst(places: readonly ReferenceTarget[], strategy: RoutingStrategy | undefined): ReferenceTarget[] {
  const usual = asConfigured(places)
  if (strategy === undefined) return usual
  if (strategy === "cost") return usual.toSorted((one, other) => one.price - other.price)
  if (strategy === "quality")
    return usual.toSorted((one, other) => COARSENESS[one.precision] - COARSENESS[other.precision])
  const known = usual.filter(({ latencyMs }) => latencyMs !== undefined)
  const unknown = usual.filter(({ latencyMs }) => latencyMs === undefined)
  return [...known.toSorted((one, other) => (one.latencyMs ?? 0) - (other.latencyMs ?? 0)), ...unknown]
}

/** Everything moves on but what the caller has to mend, what a policy refuses, and the end of either side. */
const ENDS_THERE: readonly FailureKind[] = ["caller", "refusal", "client-gone", "stopping"]

/** Along those that are tried, until one answers or fails in a way that another would not mend. */
export function walk(
  tried: readonly string[],
  replyOf: (name: string) => FailureKind | "answered",
): { readonly attempted: string[]; readonly ending: ReferenceOutcome } {
  const attempted: string[] = []
  for (const name of tried) {
    attempted.push(name)
    const reply = replyOf(name)
    if (reply === "answered" || ENDS_THERE.includes(reply)) return { attempted, ending: reply }
  }
  return { attempted, ending: "exhausted" }
}
