// Runs every case against every candidate, in interleaved rounds, and keeps what each cost. A round gives each
// candidate many short turns instead of one long one: a noisy machine then slows all of them alike. On a machine that is
// itself a guest, the host gives the core to others now and then, which costs more than the time: caches are cold after
// it. A turn of which much was taken is taken again.
import type { BenchCandidate, CandidateName } from "./candidate.ts"
import type { LoadPlan, LoadResult } from "./load-job.ts"
import { cpuMicros, stolenMicros } from "./process-stat.ts"
import type { LoadTool } from "./workers.ts"
import type { BenchCase, CaseName } from "./workload.ts"

/** Work put off until after the answer (writes in groups, collection) is charged too. */
const SETTLE_MS = 150
/** The share of a turn's time, which Linux reports in steps of 10 ms. */
const MOST_STOLEN = 0.02
const TRIES = 3

/** One turn of one candidate. */
export type BenchSample = {
  candidate: CandidateName
  case: CaseName
  /** The same for all that took turns with each other. */
  turn: string
  cpuMicros: number
  /** Requests; for streams, the pieces the upstream wrote. */
  units: number
  /** The host took much of its time: it counts for nothing. */
  isDisturbed: boolean
  load: LoadResult
}

type MeasureOptions = {
  candidates: BenchCandidate[]
  cases: BenchCase[]
  load: LoadTool
  /** The core of the candidates; undefined if they run on any. */
  cpu: number | undefined
  rounds: number
  turns: number
}

export async function measure({ candidates, cases, load, cpu, rounds, turns }: MeasureOptions): Promise<BenchSample[]> {
  for (const one of cases) {
    for (const candidate of candidates)
      await takeTurn({ load, cpu }, { candidate, one, plan: one.warmUp, turn: "warm-up" })
  }
  const samples: BenchSample[] = []
  for (let round = 1; round <= rounds; round++) {
    process.stderr.write(`round ${round} of ${rounds}\n`)
    for (const one of cases) {
      for (let number = 1; number <= turns; number++) {
        const turn = `round ${round}, turn ${number}`
        for (const candidate of candidates)
          samples.push(await takeQuietTurn({ load, cpu }, { candidate, one, plan: one.plan, turn }))
      }
    }
  }
  return samples
}

type BenchTurn = { candidate: BenchCandidate; one: BenchCase; plan: LoadPlan; turn: string }
type LoadTarget = Pick<MeasureOptions, "load" | "cpu">

async function takeQuietTurn(driven: LoadTarget, turn: BenchTurn): Promise<BenchSample> {
  let sample = await takeTurn(driven, turn)
  for (let tries = 1; sample.isDisturbed && tries < TRIES; tries++) sample = await takeTurn(driven, turn)
  return sample
}

async function takeTurn({ load, cpu }: LoadTarget, { candidate, one, plan, turn }: BenchTurn): Promise<BenchSample> {
  const { port, headers, keys = [], pid, name } = candidate
  const { path, body, connections, minimumEvents, endMark } = one
  const spent = () => (pid === undefined ? Number.NaN : cpuMicros(pid))
  const [startedAt, stolenBefore, before] = [performance.now(), stolenMicros(cpu), spent()]
  const result = await load.run({ port, path, headers, keys, body, connections, plan, minimumEvents, endMark })
  await Bun.sleep(SETTLE_MS)
  const isDisturbed = stolenMicros(cpu) - stolenBefore > MOST_STOLEN * 1000 * (performance.now() - startedAt)
  // A gateway that the host keeps waiting turns callers away, as it should.
  if (result.errors > 0 && !isDisturbed) {
    const samples = result.errorSamples.join("; ")
    throw new Error(`${name}, ${one.name}, ${turn}: ${result.errors} errors (${samples})`)
  }
  const units = one.kind === "stream" ? result.requests * one.pieces : result.requests
  return { candidate: name, case: one.name, turn, cpuMicros: spent() - before, units, isDisturbed, load: result }
}
