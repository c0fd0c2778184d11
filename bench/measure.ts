// Runs every case against every candidate, in interleaved rounds, and keeps what each cost. A round gives each
// candidate several short turns instead of one long one: a noisy machine then slows all of them alike.
import type { Candidate, CandidateName } from "./candidate.ts"
import type { LoadPlan, LoadResult } from "./load-job.ts"
import { cpuMicros } from "./process-stat.ts"
import type { LoadTool } from "./workers.ts"
import type { Case, CaseName } from "./workload.ts"

/** Work put off until after the answer (writes in groups, collection) is charged too. */
const SETTLE_MS = 150

/** One turn of one candidate. */
export type Sample = {
  candidate: CandidateName
  case: CaseName
  round: number
  cpuMicros: number
  /** Requests; for streams, the pieces the upstream wrote. */
  units: number
  load: LoadResult
}

type MeasureOptions = { candidates: Candidate[]; cases: Case[]; load: LoadTool; rounds: number; turns: number }

export async function measure({ candidates, cases, load, rounds, turns }: MeasureOptions): Promise<Sample[]> {
  for (const one of cases) {
    for (const candidate of candidates) await takeTurn(load, { candidate, one, plan: one.warmUp, round: 0 })
  }
  const samples: Sample[] = []
  for (let round = 1; round <= rounds; round++) {
    process.stderr.write(`round ${round} of ${rounds}\n`)
    for (const one of cases) {
      for (let turn = 0; turn < turns; turn++) {
        for (const candidate of candidates)
          samples.push(await takeTurn(load, { candidate, one, plan: one.plan, round }))
      }
    }
  }
  return samples
}

type Turn = { candidate: Candidate; one: Case; plan: LoadPlan; round: number }

async function takeTurn(load: LoadTool, { candidate, one, plan, round }: Turn): Promise<Sample> {
  const { port, headers, keys = [], pid, name } = candidate
  const { path, body, connections, minimumEvents, endMark } = one
  const spent = () => (pid === undefined ? Number.NaN : cpuMicros(pid))
  const before = spent()
  const result = await load.run({ port, path, headers, keys, body, connections, plan, minimumEvents, endMark })
  await Bun.sleep(SETTLE_MS)
  if (result.errors > 0) {
    const samples = result.errorSamples.join("; ")
    throw new Error(`${name}, ${one.name}, round ${round}: ${result.errors} errors (${samples})`)
  }
  const units = one.kind === "stream" ? result.requests * one.pieces : result.requests
  return { candidate: name, case: one.name, round, cpuMicros: spent() - before, units, load: result }
}
