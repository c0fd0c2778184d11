// Usage and finish reasons of the exchanges, worked out by hand from each vendor's own report.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Usage } from "../../src/canonical/usage.ts"
import { isReal } from "./recorded.ts"

export interface ExpectedUsage {
  readonly endpoint: string
  readonly provider: string
  /** The file of the recording, and the exchange in it. */
  readonly source: string
  readonly exchange: number
  readonly usage: Usage
  /** A stream's; null for answers that came whole. */
  readonly finish: string | null
}

const [, ...lines] = readFileSync(join(import.meta.dir, isReal ? "expected.tsv" : "handmade/expected.tsv"), "utf8")
  .trimEnd()
  .split("\n")

export const EXPECTED: readonly ExpectedUsage[] = lines.map((line) => {
  const [endpoint = "", provider = "", source = "", exchange, usage = "", finish = "-"] = line.split("\t")
  const buckets = usage.split(" ").map((bucket) => bucket.split("="))
  return {
    endpoint,
    provider,
    source,
    exchange: Number(exchange),
    usage: Object.fromEntries(buckets.map(([name, tokens]) => [name, Number(tokens)])),
    finish: finish === "-" ? null : finish,
  }
})
