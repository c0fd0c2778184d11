// The gateway process crashes or is killed under load, repeatedly: its launcher restarts it each time, callers see only
// failed connections, and the ledger stays consistent.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { freePort } from "../stage/free-port.ts"
import { HAS_LAUNCHER, RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { completion, DONE, ScriptedUpstream, streamedWords } from "../stage/upstream.ts"
import { readOfflineLedger } from "./offline-ledger.ts"
import type { ProofFigure, ProofRow } from "./row.ts"
import { SeededRandom } from "./seeded-random.ts"

const CALLERS = 8
const SIGNALS = ["SIGKILL", "SIGSEGV"] as const
/** The longest wait of the launcher, and a start on a busy machine. */
const BACK_WITHIN_MS = 60_000

class CrashRun {
  readonly dataDir = mkdtempSync(join(tmpdir(), "trivium-row-32-"))
  readonly odd: string[] = []
  /** The requests that were answered whole. */
  readonly answered: string[] = []
  failedConnections = 0
  broughtBack = 0
  code: number | null = null
  private isOver = false

  async run(kills: number, print: (text: string) => void): Promise<void> {
    const upstream = await ScriptedUpstream.start(async ({ body }, reply) => {
      if (!body.includes('"stream":true')) return reply.json(completion("hi"))
      reply.stream()
      for (const word of streamedWords("one after the other")) await reply.write(word)
      reply.end()
    })
    const config = upstreamConfig(upstream.baseUrl)
    const gateway = await RunningGateway.start({
      config,
      dataDir: this.dataDir,
      port: await freePort(),
      restarts: true,
    })
    try {
      const callers = Array.from({ length: CALLERS }, (_, at) => this.keepAsking(gateway, at % 2 === 0))
      const random = new SeededRandom({ seed: 32, number: 0 })
      for (let kill = 0; kill < kills; kill++) {
        await setTimeout(100 + random.below(500))
        if (await this.crash(gateway, SIGNALS[kill % SIGNALS.length] ?? "SIGKILL")) this.broughtBack++
        print(`${kill + 1} crashes: ${this.answered.length} answers so far`)
      }
      await setTimeout(500)
      this.isOver = true
      await Promise.all(callers)
      gateway.signal("SIGINT")
      this.code = await gateway.exited()
    } finally {
      this.isOver = true
      await gateway.stop()
      await upstream.stop()
    }
  }

  remove(): void {
    rmSync(this.dataDir, { recursive: true, force: true })
  }

  /** Whether the gateway is back in time, as another process. */
  private async crash(gateway: RunningGateway, signal: NodeJS.Signals): Promise<boolean> {
    const before = gateway.pid
    process.kill(before, signal)
    const end = performance.now() + BACK_WITHIN_MS
    while (performance.now() < end) {
      const isUp = await fetch(`${gateway.url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
      if (isUp && gateway.pid !== before) return true
      await setTimeout(50)
    }
    return false
  }

  private async keepAsking(gateway: RunningGateway, stream: boolean): Promise<void> {
    while (!this.isOver) {
      const request = { model: "test/model", messages: [{ role: "user", content: "hi" }], stream }
      try {
        const answer = await gateway.chat(request)
        const text = await answer.text()
        if (answer.status === 200 && (stream ? text.endsWith(DONE) : text.endsWith("}")))
          this.answered.push(answer.headers.get("x-request-id") ?? "")
        else this.odd.push(`${answer.status}: …${text.slice(-200)}`)
      } catch {
        this.failedConnections++
        await setTimeout(20)
      }
    }
  }
}

export const crashes: ProofRow = {
  number: 32,
  title: "crashes of the gateway process under load, and its restart by the launcher",
  async run({ short, print }): Promise<ProofFigure[]> {
    if (!HAS_LAUNCHER) return [{ what: "the single binary has no launcher", seen: 0, atMost: 0 }]
    const kills = short ? 3 : 10
    const run = new CrashRun()
    try {
      await run.run(kills, print)
      const { entries, holds, problems } = await readOfflineLedger(run.dataDir)
      const settled = new Set(entries.filter(({ kind }) => kind === "settled").map(({ request }) => request))
      const unbooked = run.answered.filter((request) => !settled.has(request))
      for (const each of [...run.odd, ...problems.map(({ what }) => what)].slice(0, 5)) print(each)
      print(`${run.failedConnections} failed connections`)
      return [
        { what: "crashes after which the gateway was restarted", seen: run.broughtBack, atLeast: kills },
        { what: "requests answered whole", seen: run.answered.length, atLeast: short ? 30 : 500, needsQuiet: true },
        { what: "answers that were neither whole nor a failed connection", seen: run.odd.length, atMost: 0 },
        { what: "whole answers not settled in the ledger", seen: unbooked.length, atMost: 0 },
        { what: "problems that the ledger's own verification finds", seen: problems.length, atMost: 0 },
        { what: "open holds although no gateway runs", seen: holds.length, atMost: 0 },
        { what: "the launcher's exit code", seen: run.code ?? Number.NaN, atMost: 0 },
      ]
    } finally {
      run.remove()
    }
  },
}
