// Compares the ledger engine with plain tables: CPU, bytes and start-up by the number of entries.
// npm run bench:ledger [-- ENTRIES …]; without numbers, 10,000, 1,000,000 and 10,000,000, which needs 10 GB of disk.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { FillFigures, LedgerKind, ReadFigures } from "./measure-ledger.ts"

const given = process.argv.slice(2).map(Number)
if (given.some((entries) => !Number.isInteger(entries) || entries < 1)) {
  console.error("Each size must be a number of entries, such as 10000.")
  process.exit(1)
}
const sizes = given.length > 0 ? given : [10_000, 1_000_000, 10_000_000]

function measure<Figures>(job: "fill" | "read", ...words: readonly string[]): Figures {
  const command = [process.execPath, join(import.meta.dir, "measure-ledger.ts"), job, ...words]
  const { stdout, stderr } = Bun.spawnSync(command, { stdout: "pipe", stderr: "pipe" })
  if (stdout.length === 0) throw new Error(`${job} ${words.join(" ")} failed: ${stderr.toString()}`)
  return JSON.parse(stdout.toString())
}

function compare(kind: LedgerKind, entries: number): string {
  const folder = mkdtempSync(join(tmpdir(), "trivium-ledger-comparison-"))
  try {
    const words = [kind, String(entries), join(folder, "trivium.db")]
    const filled = measure<FillFigures>("fill", ...words)
    const read = measure<ReadFigures>("read", ...words)
    const cells = [
      ...[entries.toLocaleString("en"), kind, filled.cpuUs.toFixed(1), filled.lastCpuUs.toFixed(1)],
      ...[read.bytesPerEntry.toFixed(0), filled.rssMb.toFixed(0)],
      ...[read.openMs.toFixed(1), read.openAfterKillMs.toFixed(1)],
      ...[read.receiptUs.toFixed(0), read.budgetUs.toFixed(0), read.usagePageUs.toFixed(0)],
      read.adHocMs?.toFixed(0) ?? "—",
    ]
    return `| ${cells.join(" | ")} |`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const COLUMNS = [
  ...["entries", "ledger", "CPU µs per entry", "last tenth", "bytes per entry", "RSS MB"],
  ...["open ms", "open after a kill ms", "receipt µs", "budget µs", "usage page µs", "ad-hoc sum ms"],
]
console.log(`| ${COLUMNS.join(" | ")} |\n|${" ---: |".repeat(COLUMNS.length)}`)
for (const entries of sizes) for (const kind of ["engine", "plain"] as const) console.log(compare(kind, entries))
