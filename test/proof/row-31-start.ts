// A large store killed under load is opened and recovered at once: the work of a start grows with the open holds and
// not with the booked entries.
import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { ProofFigure, ProofRow } from "./row.ts"

const ENTRIES = { short: 40_000, long: 764_000 }
const FILLER = new URL("./store-filler.ts", import.meta.url).pathname
const OPENER = new URL("./store-opener.ts", import.meta.url).pathname
const OPENINGS = 5
const MOST_MS = 500
/** The bound on text searches during recovery of the open and outdated holds. */
const MOST_SEARCHES = 20_000

interface StoreOpening {
  readonly tookMs: number
  readonly holds: number
  readonly searches: number
}

export const start: ProofRow = {
  number: 31,
  title: "the start of a large store that was killed under load",
  async run({ short, print }) {
    const folder = mkdtempSync(join(tmpdir(), "trivium-start-"))
    try {
      const left = join(folder, "left")
      await run([FILLER, join(left, "trivium.db"), String(short ? ENTRIES.short : ENTRIES.long)])
      const openings: StoreOpening[] = []
      for (let at = 0; at < (short ? 1 : OPENINGS); at++) {
        const copy = join(folder, String(at))
        cpSync(left, copy, { recursive: true })
        openings.push(JSON.parse(await run([OPENER, join(copy, "trivium.db")])))
      }
      print(`opened and recovered in ${openings.map(({ tookMs }) => tookMs.toFixed(0)).join(", ")} ms`)
      return figuresOf(openings, short)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

function figuresOf(openings: readonly StoreOpening[], short: boolean): ProofFigure[] {
  const median = (numbers: number[]) => numbers.sort((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN
  const tookMs = median(openings.map((each) => each.tookMs))
  const searches = Math.max(...openings.map((each) => each.searches))
  return [
    { what: "holds that the kill left open", seen: Math.min(...openings.map(({ holds }) => holds)), atLeast: 400 },
    { what: "text searches", seen: searches, atMost: MOST_SEARCHES },
    ...(short ? [] : [{ what: "time to open and recover", seen: tookMs, atMost: MOST_MS, unit: "ms" }]),
  ]
}

/** Its output; it ends by being killed. */
async function run(words: readonly string[]): Promise<string> {
  const child = Bun.spawn([process.execPath, ...words], { stdout: "pipe", stderr: "inherit" })
  const output = await new Response(child.stdout).text()
  await child.exited
  if (child.signalCode !== "SIGKILL") throw new Error(`${words[0]} ended with ${child.exitCode}`)
  return output
}
