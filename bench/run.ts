// npm run bench [-- --quick] [--protocol NAME] [--to NAME] [--filled KEYS,ROWS] [--before FOLDER] [--only unary|stream] [--rounds N] [--json FILE] [--calibrate] [--no-pin]
// Measures the gateway, a bare Bun proxy and nginx on this machine, prints a table, and writes the figures as JSON.
// Exit code: 0 all bounds held, 1 a bound missed or the run failed, 2 the run is void. Linux only; takes about 8 minutes.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { cpus, tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { type BenchEvidence, checkBounds, type MemoryReading, verdictOf } from "./bounds.ts"
import { type BenchCandidate, type CandidateName, probe, type StartOptions } from "./candidate.ts"
import { ChildProcesses } from "./children.ts"
import { GATEWAY_MODEL, startGateway } from "./gateway.ts"
import { measure } from "./measure.ts"
import { findNginx, startNginx } from "./nginx.ts"
import { type BenchOptions, type FillingOptions, readOptions } from "./options.ts"
import { residentMb } from "./process-stat.ts"
import { type BenchProtocol, benchProtocol } from "./protocols.ts"
import { report } from "./report.ts"
import { startTimes } from "./start-time.ts"
import { startBare, startLoadTool, startUpstream } from "./workers.ts"
import { type BenchCase, workload } from "./workload.ts"

const STARTS = 5
/** The turns of each candidate in one round of one case. */
const TURNS = 4
const PROBES = 3
/** The keys of an empty store, and the calling keys of a filled one. */
const FEW_KEYS = 10

/** One core for the process under test, the other for the upstream and the load tool; alike for every candidate. */
const TESTED_CPU = 0
const DRIVING_CPU = 1

const children = new ChildProcesses()
const folder = mkdtempSync(join(tmpdir(), "trivium-bench-"))

let stopped = false
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.once(name, () => {
    stopped = true
    cleanUp().then(() => process.exit(1))
  })
}

try {
  process.exitCode = await main(readOptions(process.argv.slice(2)))
  await cleanUp()
} catch (error) {
  process.exitCode = 1
  if (!stopped) {
    console.error("The run failed:", error)
    console.error(`The output of the processes is in ${folder}`)
    await children.endAll()
  }
}

async function main(options: BenchOptions): Promise<number> {
  const evidence = await gather(options)
  const bounds = checkBounds(evidence)
  process.stdout.write(report(evidence, bounds))
  const verdict = verdictOf(bounds)
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, bun: Bun.version }
  mkdirSync(dirname(options.json), { recursive: true })
  const result = { at: new Date().toISOString(), verdict, machine, options, bounds, ...evidence }
  writeFileSync(options.json, `${JSON.stringify(result, null, 2)}\n`)
  return { held: 0, missed: 1, void: 2 }[verdict]
}

async function gather(options: BenchOptions): Promise<BenchEvidence> {
  const { quick, only, rounds, calibrate } = options
  const startsMs = calibrate || only ? [] : await startTimes({ children, folder, times: STARTS })
  const wire = benchProtocol(options.protocol)
  const candidates = await startCandidates(options, wire)
  const all = workload({ wire, model: GATEWAY_MODEL, quick, only: undefined, translated: options.to !== undefined })
  const idle = await idleMemory(candidates, all)
  const cases = all.filter(({ kind }) => only === undefined || kind === only)
  const load = await startLoadTool({ children, cpu: options.pin ? DRIVING_CPU : undefined })
  const cpu = options.pin ? TESTED_CPU : undefined
  const samples = await measure({ candidates, cases, load, cpu, rounds, turns: quick ? 1 : TURNS })
  await Bun.sleep(1000)
  const memory: Partial<Record<CandidateName, MemoryReading>> = {}
  for (const { name, pid } of candidates) {
    const idleMb = idle.get(name)
    if (pid !== undefined && idleMb !== undefined) memory[name] = { idleMb, loadedMb: residentMb(pid) }
  }
  return { samples, memory, startsMs }
}

async function startCandidates(
  { pin, calibrate, to, filled, before }: BenchOptions,
  wire: BenchProtocol,
): Promise<BenchCandidate[]> {
  const driving = { children, cpu: pin ? DRIVING_CPU : undefined }
  const upstream = await startUpstream(wire.protocol, driving)
  const options: StartOptions = { children, upstreamPort: upstream.port, folder, cpu: pin ? TESTED_CPU : undefined }
  const candidates = [upstream]
  const start = (name: "unbooked" | "gateway" | "filled", size?: FillingOptions) =>
    startGateway({ wire, behind: wire, name, books: name !== "unbooked", ...(size && { filled: size }) }, options)
  if (filled) {
    const [unbooked, empty] = [await start("unbooked"), await start("gateway", { keys: FEW_KEYS, rows: 0 })]
    const large = await start("filled", filled)
    const { keys = [] } = large
    // From all over the store.
    const few = keys.filter((_, at) => at % Math.ceil(keys.length / FEW_KEYS) === 0)
    candidates.push(unbooked, empty, { ...large, keys: few }, { ...large, name: "crowd" })
    return candidates
  }
  if (before !== undefined) {
    const older = { wire, behind: wire, name: "before", books: true, root: before } as const
    candidates.push(await startGateway(older, options), await start("gateway"))
    return candidates
  }
  if (to) {
    const { port } = await startUpstream(to, driving)
    candidates.push(await start("unbooked"))
    const translated = { wire, behind: benchProtocol(to), name: "translated", books: false } as const
    candidates.push(await startGateway(translated, { ...options, upstreamPort: port }))
    return candidates
  }
  const nginx = findNginx()
  if (nginx) candidates.push(await startNginx(nginx, options))
  candidates.push(await startBare(options))
  if (!calibrate) candidates.push(await start("unbooked"), await start("gateway"))
  return candidates
}

/** The memory of each after a few requests, before any load. */
async function idleMemory(candidates: BenchCandidate[], cases: BenchCase[]): Promise<Map<CandidateName, number>> {
  const unary = cases.find(({ kind }) => kind === "unary")
  const stream = cases.find(({ kind }) => kind === "stream")
  if (!unary || !stream) throw new Error("a run needs a unary and a streamed case")
  for (let turn = 0; turn < PROBES; turn++) {
    await Promise.all(candidates.map((candidate) => probe(candidate, { unary, stream })))
  }
  await Bun.sleep(1000)
  const idle = new Map<CandidateName, number>()
  for (const { name, pid } of candidates) if (pid !== undefined) idle.set(name, residentMb(pid))
  return idle
}

async function cleanUp(): Promise<void> {
  await children.endAll()
  rmSync(folder, { recursive: true, force: true })
}
