// The bounds of the benchmark's figures, and the verdict.
import type { CandidateName } from "./candidate.ts"
import type { BenchSample } from "./measure.ts"
import { median } from "./statistics.ts"
import { cpuDifference, cpuRatio, figures, quietShare } from "./summary.ts"
import type { CaseName } from "./workload.ts"

const UNARY_OVER_BARE = 1.6
const CHUNK_OVER_BARE = 1.5
const BARE_OVER_NGINX = 3.2
const BOOKS_MICROS = 15
const FILLED_OVER_EMPTY = 1.2
const TRANSLATED_UNARY_OVER_RELAYED = 3
const TRANSLATED_CHUNK_OVER_RELAYED = 2.5
const AFTER_OVER_BEFORE = 1.03
const IDLE_MB = 80
const START_MS = 1000
/** With fewer chunks at the client than this share, "per chunk" would flatter a proxy that joins them. */
const SEPARATE_CHUNKS = 0.9
/** With fewer turns than this share the rest means little. */
const QUIET_TURNS = 0.5

export type BenchBound = {
  name: string
  value: number
  /** Absent: reported, not judged. */
  limit: { most: number } | { least: number } | undefined
  held: boolean
  /** A missed yardstick means that the machine was disturbed, not the gateway: the run is void. */
  yardstick: boolean
}

export type BenchVerdict = "held" | "missed" | "void"

export type MemoryReading = { idleMb: number; loadedMb: number }

export type BenchEvidence = {
  samples: BenchSample[]
  memory: Partial<Record<CandidateName, MemoryReading>>
  startsMs: number[]
}

export function checkBounds({ samples, memory, startsMs }: BenchEvidence): BenchBound[] {
  const overBare = (of: CaseName) => cpuRatio(samples, { above: "unbooked", below: "bare", of })
  const overNginx = (of: CaseName) => cpuRatio(samples, { above: "bare", below: "nginx", of })
  const overRelayed = (of: CaseName) => cpuRatio(samples, { above: "translated", below: "unbooked", of })
  const overBefore = (of: CaseName) => cpuRatio(samples, { above: "gateway", below: "before", of })
  const start = startsMs.length > 0 ? median(startsMs) : undefined
  const books = (above: "gateway" | "crowd", of: CaseName) => cpuDifference(samples, { above, below: "unbooked", of })
  const [empty, crowd] = [books("gateway", "unary 1 KB"), books("crowd", "unary 1 KB")]
  const overEmpty = (above: "filled" | "crowd") => cpuRatio(samples, { above, below: "gateway", of: "unary 1 KB" })
  return [
    bound("without books / bare, unary 1 KB", overBare("unary 1 KB"), { most: UNARY_OVER_BARE }),
    bound("without books / bare, unary 50 KB", overBare("unary 50 KB"), { most: UNARY_OVER_BARE }),
    bound("without books / bare, streamed chunk", overBare("stream"), { most: CHUNK_OVER_BARE }),
    bound("books, limits and usage, µs of 1 KB", empty, { most: BOOKS_MICROS }),
    bound("books, limits and usage, µs of 50 KB", books("gateway", "unary 50 KB"), undefined),
    bound("books, limits and usage, µs of a chunk", books("gateway", "stream"), undefined),
    bound("the same with a crowd of callers, µs of 1 KB", crowd, undefined),
    bound("filled / empty, unary 1 KB", overEmpty("filled"), { most: FILLED_OVER_EMPTY }),
    bound("crowd / empty, unary 1 KB", overEmpty("crowd"), { most: FILLED_OVER_EMPTY }),
    bound("after / before, unary 1 KB", overBefore("unary 1 KB"), { most: AFTER_OVER_BEFORE }),
    bound("after / before, unary 50 KB", overBefore("unary 50 KB"), { most: AFTER_OVER_BEFORE }),
    bound("after / before, streamed chunk", overBefore("stream"), { most: AFTER_OVER_BEFORE }),
    bound("translated / relayed, unary 1 KB", overRelayed("unary 1 KB"), { most: TRANSLATED_UNARY_OVER_RELAYED }),
    bound("translated / relayed, unary 50 KB", overRelayed("unary 50 KB"), { most: TRANSLATED_UNARY_OVER_RELAYED }),
    bound("translated / relayed, streamed chunk", overRelayed("stream"), { most: TRANSLATED_CHUNK_OVER_RELAYED }),
    yardstick(bound("bare / nginx, unary 1 KB", overNginx("unary 1 KB"), { most: BARE_OVER_NGINX })),
    // nginx does not parse what it forwards, so this one grows with the body and shows nothing about the machine.
    bound("bare / nginx, unary 50 KB", overNginx("unary 50 KB"), undefined),
    yardstick(bound("bare / nginx, streamed chunk", overNginx("stream"), { most: BARE_OVER_NGINX })),
    yardstick(bound("turns the host did not disturb", quietShare(samples), { least: QUIET_TURNS })),
    yardstick(chunksApart(samples, "nginx")),
    yardstick(chunksApart(samples, "bare")),
    chunksApart(samples, "unbooked"),
    chunksApart(samples, "gateway"),
    chunksApart(samples, "translated"),
    bound("gateway idle memory, MB", memory.gateway?.idleMb, { most: IDLE_MB }),
    bound("npm start to first answer, ms", start, { most: START_MS }),
  ].flat()
}

export function verdictOf(bounds: BenchBound[]): BenchVerdict {
  const missed = bounds.filter((each) => !each.held)
  if (missed.some((each) => each.yardstick)) return "void"
  return missed.length > 0 ? "missed" : "held"
}

/** None if the value was not measured in this run. A value that is no number is missed, not held. */
function bound(name: string, value: number | undefined, limit: BenchBound["limit"]): BenchBound[] {
  if (value === undefined) return []
  const held = limit === undefined || ("most" in limit ? value <= limit.most : value >= limit.least)
  return [{ name, value, limit, held, yardstick: false }]
}

function yardstick(bounds: BenchBound[]): BenchBound[] {
  return bounds.map((each) => ({ ...each, yardstick: true }))
}

function chunksApart(samples: BenchSample[], candidate: CandidateName): BenchBound[] {
  const value = figures(samples, { candidate, of: "stream" })?.chunksPerPiece
  return bound(`${candidate}, chunks kept apart`, value, { least: SEPARATE_CHUNKS })
}
