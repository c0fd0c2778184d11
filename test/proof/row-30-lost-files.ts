// Store files that are missing, truncated or outdated: a gateway that would start with less data does not start, and
// names what is missing. One that was only killed always starts.
import { copyFileSync, cpSync, existsSync, mkdtempSync, rmSync, statSync, truncateSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Ledger } from "../../src/ledger/ledger.ts"
import { openSqlite } from "../../src/store/sqlite/open-sqlite.ts"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway, runCommand, upstreamConfig } from "../stage/gateway.ts"
import { ScriptedUpstream } from "../stage/upstream.ts"
import { killGateway } from "./other-gateway.ts"
import type { ProofFigure, ProofRow } from "./row.ts"

const CALLS = 200
const KILLS = { short: 2, long: 40 }
const DAY_MS = 86_400_000

interface FileLoss {
  readonly what: string
  /** Done to a folder that a killed gateway left; `old` is a copy of it from before. */
  readonly inflict: (dataDir: string, old: string) => void
  /** A pattern of the refusal's message. */
  readonly message: RegExp
}

const LOSSES: readonly FileLoss[] = [
  {
    what: "the secret",
    inflict: (dataDir) => rmSync(join(dataDir, "secret")),
    message: /secret is missing.* 1 API keys/,
  },
  {
    what: "the database",
    inflict: (dataDir) => rmSync(join(dataDir, "trivium.db")),
    message: /trivium\.db is missing or empty\. It had \d+ ledger entries/,
  },
  {
    what: "the write-ahead log",
    inflict: (dataDir) => rmSync(join(dataDir, "trivium.db-wal")),
    message: /lacks the last \d+ ledger entries of \d+, written before 20/,
  },
  {
    what: "half of the write-ahead log",
    inflict: (dataDir) => {
      const log = join(dataDir, "trivium.db-wal")
      truncateSync(log, Math.floor(statSync(log).size / 2))
    },
    message: /lacks the last \d+ ledger entries of \d+, written before 20/,
  },
  {
    what: "the data after an old copy",
    inflict: (dataDir, old) => {
      for (const file of ["trivium.db", "trivium.db-wal"]) {
        rmSync(join(dataDir, file), { force: true })
        if (existsSync(join(old, file))) copyFileSync(join(old, file), join(dataDir, file))
      }
    },
    message: /lacks the last \d+ ledger entries of \d+, written before 20/,
  },
]

class LostFiles {
  readonly refusals: string[] = []
  readonly wrong: string[] = []
  accepted = 0
  starts = 0
  private readonly folder = mkdtempSync(join(tmpdir(), "trivium-lost-"))
  private readonly left = join(this.folder, "left")
  private readonly old = join(this.folder, "old")
  private key = ""

  constructor(
    private readonly config: string,
    private readonly print: (text: string) => void,
  ) {}

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Kills under load: what is left is whole, and starts again each time. */
  async killAgain(kills: number): Promise<void> {
    for (let kill = 0; kill < kills; kill++) {
      const gateway = await this.start()
      let isOver = false
      const load = Promise.all(Array.from({ length: 8 }, () => this.callUntil(gateway, () => isOver)))
      await Bun.sleep(Math.random() * 1500)
      isOver = true
      await killGateway(gateway)
      await load
    }
    // The log begins anew, so that all of it counts.
    await (await this.start()).stop()
    await this.callAll(await this.start())
  }

  private async start(): Promise<RunningGateway> {
    const gateway = await RunningGateway.start({ config: this.config, dataDir: this.left, key: this.key })
    this.key = gateway.key
    this.starts++
    return gateway
  }

  /** Everything was answered, and its marker has been written. */
  private async callAll(gateway: RunningGateway): Promise<void> {
    const copy = () => cpSync(this.left, this.old, { recursive: true })
    for (let called = 0; called < CALLS; called++) {
      await this.call(gateway)
      if (called === CALLS / 4) copy()
    }
    const before = () => statSync(join(this.left, "trivium.db-marker")).mtimeMs
    const since = before()
    await this.call(gateway)
    await eventually(() => before() > since, { what: "the marker" })
    await killGateway(gateway)
  }

  private async callUntil(gateway: RunningGateway, isOver: () => boolean): Promise<void> {
    while (!isOver()) await this.call(gateway).catch(() => {})
  }

  private async call(gateway: RunningGateway): Promise<void> {
    const answer = await gateway.chat({ model: "test/model", messages: [{ role: "user", content: "hi" }] })
    await answer.text()
  }

  /** Each on a folder of its own: refused by a command, and by a gateway; then accepted once, then opened as ever. */
  async lose({ what, inflict, message }: FileLoss, { starts }: { starts: boolean }): Promise<void> {
    const dataDir = join(this.folder, what.replaceAll(" ", "-"))
    cpSync(this.left, dataDir, { recursive: true })
    inflict(dataDir, this.old)
    const listing = await runCommand(list(dataDir), { folder: this.folder })
    const refusals = [listing.code === 0 ? "" : listing.stderr, ...(starts ? [await this.refusal(dataDir)] : [])]
    for (const refusal of refusals) {
      if (message.test(refusal) && refusal.includes("--accept-loss")) this.refusals.push(what)
      else this.wrong.push(`without ${what}: ${refusal || "nothing was refused"}`)
    }
    this.print(`without ${what}: ${listing.stderr.split(". ")[0]}`)
    const accepting = ["ledger", "verify", "--accept-loss", "--data", dataDir]
    const { code, stderr } = await runCommand(accepting, { folder: this.folder })
    if (code !== 0 || !message.test(stderr)) this.wrong.push(`${what}, accepted: ${code} ${stderr}`)
    const again = starts
      ? await this.refusal(dataDir)
      : (await runCommand(list(dataDir), { folder: this.folder })).stderr
    if (again === "") this.accepted++
  }

  /** The message of a gateway that does not start; empty if it does. */
  private async refusal(dataDir: string): Promise<string> {
    try {
      await (await RunningGateway.start({ config: this.config, dataDir })).stop()
      return ""
    } catch (thrown) {
      return String(thrown)
    }
  }
}

function list(dataDir: string): string[] {
  return ["keys", "list", "--data", dataDir]
}

/** The budgets of a day that was spent stay spent when the clock is set back by one, before a restart and after. */
async function reopenedBudgets(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "trivium-clock-"))
  let now = Date.UTC(2026, 10, 16, 12)
  let reopened = 0
  try {
    for (let start = 0; start < 3; start++) {
      const store = openSqlite(join(folder, "trivium.db"))
      const ledger = new Ledger({ table: store.ledger, now: () => now })
      ledger.recover()
      const budgets = [{ period: "day", limitNano: 100n } as const]
      const hold = async (requestId: string) =>
        ledger.hold({ requestId, tenant: "acme", keyId: "k1", amountNano: 100n, budgets, at: now })
      if (start === 0) {
        await hold("first")
        await ledger.settle("first", { chargeNano: 100n, model: "m", provider: "p", usage: {} })
      } else
        await hold(`again-${start}`).then(
          () => reopened++,
          () => {},
        )
      ledger.stop()
      store.close()
      now -= DAY_MS
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return reopened
}

async function shortSecrets(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "trivium-short-"))
  try {
    const words = ["serve", "--port", "0", "--admin-port", "0", "--data", join(folder, "data")]
    const { code, stderr } = await runCommand(words, { folder, environment: { TRIVIUM_SECRET: "x".repeat(31) } })
    return code === 1 && stderr.includes("at least 32 are required") ? 1 : 0
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function figuresOf(run: LostFiles, { kills, print }: { kills: number; print: (text: string) => void }): ProofFigure[] {
  for (const each of run.wrong) print(each)
  return [
    { what: "kills under load, each followed by a start", seen: run.starts, atLeast: kills },
    { what: "starts refused with the missing file and the remedy", seen: run.refusals.length, atLeast: LOSSES.length },
    { what: "starts not refused, or without the reason", seen: run.wrong.length, atMost: 0 },
    {
      what: "starts after the loss was accepted, and normal starts after that",
      seen: run.accepted,
      atLeast: LOSSES.length,
    },
  ]
}

export const lostFiles: ProofRow = {
  number: 30,
  title: "lost files: no secret, no database, a shorter log, an old copy; a clock set back",
  async run({ short, print }) {
    const kills = short ? KILLS.short : KILLS.long
    const upstream = await ScriptedUpstream.start()
    const run = new LostFiles(upstreamConfig(upstream.baseUrl), print)
    try {
      await run.killAgain(kills)
      // A start of a gateway takes a second.
      for (const [at, loss] of LOSSES.entries()) await run.lose(loss, { starts: !short || at === 0 })
    } finally {
      run.remove()
      await upstream.stop()
    }
    return [
      ...figuresOf(run, { kills, print }),
      { what: "starts with a secret of 31 characters that were refused", seen: await shortSecrets(), atLeast: 1 },
      { what: "budgets reopened by a clock that was set back", seen: await reopenedBudgets(), atMost: 0 },
    ]
  },
}
