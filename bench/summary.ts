// The medians of all turns, per candidate and case.
import type { CandidateName } from "./candidate.ts"
import type { LoadResult } from "./load-job.ts"
import type { BenchSample } from "./measure.ts"
import { median } from "./statistics.ts"
import type { CaseName } from "./workload.ts"

export type BenchFigures = {
  /** Per request, per chunk for streams: one for each turn, and their median. */
  cpuMicrosOfTurns: number[]
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

type FigureKey = { candidate: CandidateName; of: CaseName }

export function figures(samples: BenchSample[], { candidate, of }: FigureKey): BenchFigures | undefined {
  const own = undisturbed(samples, { candidate, of })
  if (own.length === 0) return undefined
  const middle = (pick: (load: LoadResult, units: number) => number) =>
    median(own.map(({ load, units }) => pick(load, units)))
  const turns = own.map(({ cpuMicros, units }) => cpuMicros / units)
  return {
    cpuMicrosOfTurns: turns,
    cpuMicros: median(turns),
    requestsPerSecond: middle((load) => (load.requests / load.elapsedMs) * 1000),
    p50Ms: middle((load) => load.latencyMs.p50),
    p99Ms: middle((load) => load.latencyMs.p99),
    firstByteP50Ms: middle((load) => load.firstByteMs.p50),
    firstByteP99Ms: middle((load) => load.firstByteMs.p99),
    chunksPerPiece: middle((load, units) => load.chunks / units),
    readsPerPiece: middle((load, units) => load.reads / units),
  }
}

type FigurePair = { above: CandidateName; below: CandidateName; of: CaseName }

/** The median of the turns' own ratios: what slows the machine for a while slows both sides of a turn. */
export function cpuRatio(samples: BenchSample[], both: FigurePair): number | undefined {
  return medianOfTurns(samples, { ...both, compare: (above, below) => above / below })
}

/** The median of the turns' own differences, in µs. */
export function cpuDifference(samples: BenchSample[], both: FigurePair): number | undefined {
  return medianOfTurns(samples, { ...both, compare: (above, below) => above - below })
}

function medianOfTurns(
  samples: BenchSample[],
  { above, below, of, compare }: FigurePair & { compare: (above: number, below: number) => number },
): number | undefined {
  const perUnit = (candidate: CandidateName) =>
    new Map(undisturbed(samples, { candidate, of }).map(({ turn, cpuMicros, units }) => [turn, cpuMicros / units]))
  const [over, under] = [perUnit(above), perUnit(below)]
  const compared = [...over].flatMap(([turn, micros]) => {
    const baseline = under.get(turn)
    return baseline === undefined ? [] : [compare(micros, baseline)]
  })
  return compared.length === 0 ? undefined : median(compared)
}

/** The share of undisturbed turns, of the candidate and case with the fewest. */
export function quietShare(samples: BenchSample[]): number {
  const taken = Map.groupBy(samples, (sample) => `${sample.candidate}, ${sample.case}`).values()
  const shares = [...taken].map((own) => own.filter(({ isDisturbed }) => !isDisturbed).length / own.length)
  return Math.min(...shares)
}

function undisturbed(samples: BenchSample[], { candidate, of }: FigureKey): BenchSample[] {
  return samples.filter((sample) => sample.candidate === candidate && sample.case === of && !sample.isDisturbed)
}
