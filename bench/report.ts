// The figures as a table for people.
import { type BenchBound, type BenchEvidence, verdictOf } from "./bounds.ts"
import type { CandidateName } from "./candidate.ts"
import { percentile } from "./statistics.ts"
import { type BenchFigures, figures } from "./summary.ts"
import type { CaseName } from "./workload.ts"

const columns: CandidateName[] = ["direct", "nginx", "bare", "unbooked", "gateway", "filled", "crowd", "translated"]

type ReportRow = [label: string, ...cells: string[]]
/** One line of the table: a text for a candidate's figures, given those of the upstream itself. */
type ReportLine = { label: string; of: CaseName; cell: (own: BenchFigures, direct: BenchFigures) => string }

const lines: ReportLine[] = [
  { label: "CPU µs per request, 1 KB", of: "unary 1 KB", cell: (own) => decimal(own.cpuMicros) },
  { label: "  middle half of the turns", of: "unary 1 KB", cell: cpuRange },
  { label: "CPU µs per request, 50 KB", of: "unary 50 KB", cell: (own) => decimal(own.cpuMicros) },
  { label: "  middle half of the turns", of: "unary 50 KB", cell: cpuRange },
  { label: "CPU µs per streamed chunk", of: "stream", cell: (own) => decimal(own.cpuMicros) },
  { label: "  middle half of the turns", of: "stream", cell: cpuRange },
  { label: "chunks at the client / written", of: "stream", cell: (own) => own.chunksPerPiece.toFixed(3) },
  { label: "reads at the client / written", of: "stream", cell: (own) => own.readsPerPiece.toFixed(3) },
  { label: "requests/s, 1 KB", of: "unary 1 KB", cell: (own) => decimal(own.requestsPerSecond) },
  { label: "requests/s, 50 KB", of: "unary 50 KB", cell: (own) => decimal(own.requestsPerSecond) },
  { label: "added p50 ms, 1,000/s", of: "latency 1 KB", cell: (own, direct) => decimal(own.p50Ms - direct.p50Ms) },
  { label: "added p99 ms, 1,000/s", of: "latency 1 KB", cell: (own, direct) => decimal(own.p99Ms - direct.p99Ms) },
  {
    label: "added first token p50 ms",
    of: "stream",
    cell: (own, direct) => decimal(own.firstByteP50Ms - direct.firstByteP50Ms),
  },
  {
    label: "added first token p99 ms",
    of: "stream",
    cell: (own, direct) => decimal(own.firstByteP99Ms - direct.firstByteP99Ms),
  },
]

export function report(evidence: BenchEvidence, bounds: BenchBound[]): string {
  const present = columns.filter((name) => evidence.samples.some((sample) => sample.candidate === name))
  const starts = evidence.startsMs.map((ms) => ms.toFixed(0)).join(" ")
  return [
    ...table(figureRows(evidence, present), present),
    "",
    ...table(bounds.map(boundRow), ["value", "bound", ""]),
    ...(starts ? ["", `starts, ms: ${starts}`] : []),
    "",
    ...conclusion(present, bounds),
    "",
  ].join("\n")
}

function figureRows({ samples, memory }: BenchEvidence, present: CandidateName[]): ReportRow[] {
  const rows = lines.flatMap(({ label, of, cell }): ReportRow[] => {
    const direct = figures(samples, { candidate: "direct", of })
    if (!direct) return []
    const cells = present.map((candidate) => {
      const own = figures(samples, { candidate, of })
      return own ? cell(own, direct) : ""
    })
    return [[label, ...cells]]
  })
  const megabytes = (pick: "idleMb" | "loadedMb") => present.map((name) => decimal(memory[name]?.[pick] ?? Number.NaN))
  return [...rows, ["resident MB, idle", ...megabytes("idleMb")], ["resident MB, after load", ...megabytes("loadedMb")]]
}

function boundRow({ name, value, limit, held }: BenchBound): ReportRow {
  if (!limit) return [name, decimal(value), "none", ""]
  return [name, decimal(value), "most" in limit ? `≤ ${limit.most}` : `≥ ${limit.least}`, held ? "held" : "MISSED"]
}

function conclusion(present: CandidateName[], bounds: BenchBound[]): string[] {
  const verdict = verdictOf(bounds)
  const texts = {
    held: present.includes("gateway") ? "All bounds held." : "The yardsticks are sound; the gateway was not measured.",
    missed: "MISSED: at least one bound.",
    void: "VOID: a yardstick is off, so this run shows nothing about the gateway. Run it again on an idle machine.",
  }[verdict]
  if (!present.includes("bare") || present.includes("nginx")) return [texts]
  return ["nginx is not installed, so the bare proxy could not be checked as a yardstick.", texts]
}

function table(rows: ReportRow[], heads: string[]): string[] {
  const all = [["", ...heads], ...rows]
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? []
  const align = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  return all.map((row) => row.map(align).join("  ").trimEnd())
}

function cpuRange({ cpuMicrosOfTurns }: BenchFigures): string {
  const [least, most] = [percentile(cpuMicrosOfTurns, 0.25), percentile(cpuMicrosOfTurns, 0.75)]
  return Number.isNaN(least) ? "" : `${decimal(least)}–${decimal(most)}`
}

function decimal(value: number): string {
  if (Number.isNaN(value)) return ""
  const digits = Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? 1 : 2
  return value.toFixed(digits)
}
