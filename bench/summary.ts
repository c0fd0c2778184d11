// The medians of all rounds, per candidate and case.
import type { CandidateName } from "./candidate.ts"
import type { LoadResult } from "./load-job.ts"
import type { Sample } from "./measure.ts"
import { median } from "./statistics.ts"
import type { CaseName } from "./workload.ts"

export type Figures = {
  /** Per request, per chunk for streams: one for each round, and their median. */
  cpuMicrosOfRounds: number[]
  cpuMicros: number
  requestsPerSecond: number
  p50Ms: number
  p99Ms: number
  firstByteP50Ms: number
  firstByteP99Ms: number
  /** Chunks and reads at the client for every piece the upstream wrote: near 1, or "per chunk" means little. */
  chunksPerPiece: number
  readsPerPiece: number
}

type Which = { candidate: CandidateName; of: CaseName }

export function figures(samples: Sample[], { candidate, of }: Which): Figures | undefined {
  const own = samples.filter((sample) => sample.candidate === candidate && sample.case === of)
  if (own.length === 0) return undefined
  const middle = (pick: (load: LoadResult, units: number) => number) =>
    median(own.map(({ load, units }) => pick(load, units)))
  const rounds = [...Map.groupBy(own, (sample) => sample.round).values()].map(cpuMicrosPerUnit)
  return {
    cpuMicrosOfRounds: rounds,
    cpuMicros: median(rounds),
    requestsPerSecond: middle((load) => (load.requests / load.elapsedMs) * 1000),
    p50Ms: middle((load) => load.latencyMs.p50),
    p99Ms: middle((load) => load.latencyMs.p99),
    firstByteP50Ms: middle((load) => load.firstByteMs.p50),
    firstByteP99Ms: middle((load) => load.firstByteMs.p99),
    chunksPerPiece: middle((load, units) => load.chunks / units),
    readsPerPiece: middle((load, units) => load.reads / units),
  }
}

/** The median of the rounds' own ratios: what slows the machine for a while slows both sides of a round. */
export function cpuRatio(
  samples: Sample[],
  { above, below, of }: { above: CandidateName; below: CandidateName; of: CaseName },
) {
  const over = figures(samples, { candidate: above, of })?.cpuMicrosOfRounds
  const under = figures(samples, { candidate: below, of })?.cpuMicrosOfRounds
  if (!over || !under) return undefined
  return median(over.map((value, round) => value / (under[round] ?? Number.NaN)))
}

/** The median of the rounds' own differences, in µs. */
export function cpuDifference(
  samples: Sample[],
  { above, below, of }: { above: CandidateName; below: CandidateName; of: CaseName },
) {
  const over = figures(samples, { candidate: above, of })?.cpuMicrosOfRounds
  const under = figures(samples, { candidate: below, of })?.cpuMicrosOfRounds
  if (!over || !under) return undefined
  return median(over.map((value, round) => value - (under[round] ?? Number.NaN)))
}

function cpuMicrosPerUnit(round: Sample[]): number {
  const sum = (pick: (sample: Sample) => number) => round.reduce((total, sample) => total + pick(sample), 0)
  return sum((sample) => sample.cpuMicros) / sum((sample) => sample.units)
}
