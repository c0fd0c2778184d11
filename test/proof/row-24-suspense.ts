// kill -9 during unary calls: their holds are known, listed and returned once, so that the tenant pays exactly what is
// owed.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { nanoOfUsd } from "../../src/canonical/usd.ts"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway, runCommand } from "../stage/gateway.ts"
import { completion, ScriptedUpstream, type UpstreamReply } from "../stage/upstream.ts"
import { killGateway } from "./other-gateway.ts"
import type { ProofRow } from "./row.ts"

const KILLS = { short: 2, long: 12 }
/** All that are under way when the process is killed would cost 0.0025 USD together. */
const UNDER_WAY = 100
const ANSWERED = 20
const OUTPUT_TOKENS = 25
const COST_NANO = 25_000n
const BALANCE_USD = "5"
const BALANCE_NANO = 5_000_000_000n
const TENANT = "payer"

/** Each holds 4,096 tokens, since the requests set no output limit. */
const configOf = (baseUrl: string) => `
providers:
  held: { type: openai-compatible, base_url: "${baseUrl}", api_key: "upstream-credential" }
models:
  - { id: test/model, context_window: 100000, pricing: { input: "0", output: "1" }, targets: [{ provider: held, model: m }] }
`

interface TenantListing {
  readonly balance: string
  readonly held: string
}

class SuspenseRun {
  kills = 0
  underWay = 0
  suspendedNano = 0n
  /** The tenant's shortfall and surplus after everything is returned, after every kill, in nano-USD. */
  missingNano = 0n
  surplusNano = 0n
  leftInSuspense = 0
  problems = 0
  /** Kills that came while the return was being written. */
  killedReturns = 0
  private answered = 0
  private key = ""
  private waiting: UpstreamReply[] = []
  private readonly folder = mkdtempSync(join(tmpdir(), "trivium-suspense-"))
  private readonly dataDir = join(this.folder, "data")

  async run(kills: number): Promise<void> {
    const upstream = await ScriptedUpstream.start((_, reply) => {
      this.waiting.push(reply)
    })
    try {
      for (let kill = 0; kill < kills; kill++) await this.killOnce(configOf(upstream.baseUrl))
    } finally {
      await upstream.stop()
      rmSync(this.folder, { recursive: true, force: true })
    }
  }

  private async killOnce(config: string): Promise<void> {
    const gateway = await RunningGateway.start({ config, dataDir: this.dataDir })
    if (this.kills === 0) await this.prepare(gateway)
    await this.answerSome(gateway)
    await this.killUnderWay(gateway)
    // Every other time the gateway is killed once more, while an operator has everything returned.
    if (this.kills % 2 === 0) await this.killReturning(config)
    await this.judge(config)
  }

  private async prepare(gateway: RunningGateway): Promise<void> {
    const post = async (path: string, body: object) =>
      (await gateway.administer(`/admin/v1${path}`, { method: "POST", body: JSON.stringify(body) })).json()
    await post("/tenants", { name: TENANT })
    await post(`/tenants/${TENANT}/topup`, { usd: BALANCE_USD })
    const made = await post("/keys", { name: "caller", tenant: TENANT, requests_per_minute: 1_000_000 })
    this.key = (made as { key: string }).key
  }

  private call({ url }: RunningGateway): Promise<Response> {
    const headers = { authorization: `Bearer ${this.key}`, "content-type": "application/json" }
    const body = JSON.stringify({ model: "test/model", messages: [{ role: "user", content: "hi" }] })
    return fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body })
  }

  private async answerSome(gateway: RunningGateway): Promise<void> {
    const calls = Array.from({ length: ANSWERED }, () => this.call(gateway))
    await this.haveCome(ANSWERED)
    const usage = { prompt_tokens: 1, completion_tokens: OUTPUT_TOKENS, total_tokens: OUTPUT_TOKENS + 1 }
    for (const reply of this.waiting.splice(0)) reply.json({ ...completion("Hello."), usage })
    for (const answer of await Promise.all(calls)) if (answer.ok) this.answered++
  }

  private async killUnderWay(gateway: RunningGateway): Promise<void> {
    const calls = Array.from({ length: UNDER_WAY }, () => this.call(gateway).catch(() => undefined))
    await this.haveCome(UNDER_WAY)
    await killGateway(gateway)
    await Promise.all(calls)
    this.kills++
    this.underWay += this.waiting.splice(0).length
  }

  private haveCome(count: number): Promise<void> {
    return eventually(() => this.waiting.length >= count, { withinMs: 20_000, what: `${count} calls at the provider` })
  }

  private async killReturning(config: string): Promise<void> {
    const gateway = await RunningGateway.start({ config, dataDir: this.dataDir })
    const returning = gateway.administer("/admin/v1/ledger/suspense/return", { method: "POST" }).catch(() => undefined)
    await Bun.sleep(Math.random() * 40)
    await killGateway(gateway)
    await returning
    this.killedReturns++
  }

  private async judge(config: string): Promise<void> {
    const gateway = await RunningGateway.start({ config, dataDir: this.dataDir })
    try {
      const listed = await this.suspense(gateway, "list")
      this.suspendedNano += nanoOfUsd(listed.total) ?? 0n
      for (let again = 0; again < 2; again++) await this.suspense(gateway, "return", "--all")
      this.leftInSuspense += (await this.suspense(gateway, "list")).count
      const owedNano = BigInt(this.answered) * COST_NANO
      const { balance, held } = (await (
        await gateway.administer(`/admin/v1/tenants/${TENANT}`)
      ).json()) as TenantListing
      const hasNano = (nanoOfUsd(balance) ?? 0n) + (nanoOfUsd(held) ?? 0n)
      const surplus = hasNano - (BALANCE_NANO - owedNano)
      if (surplus > 0n) this.surplusNano += surplus
      else this.missingNano -= surplus
      const verdict = await gateway.administer("/admin/v1/ledger/verify", { method: "POST" })
      this.problems += ((await verdict.json()) as { problems: unknown[] }).problems.length
    } finally {
      await gateway.stop()
    }
  }

  private async suspense(gateway: RunningGateway, ...words: string[]): Promise<{ count: number; total: string }> {
    const command = ["ledger", "suspense", ...words, "--json", "--data", this.dataDir]
    const { code, stdout, stderr } = await runCommand(command, { folder: gateway.folder })
    if (code !== 0) throw new Error(stderr)
    return JSON.parse(stdout)
  }
}

export const suspense: ProofRow = {
  number: 24,
  title: "kill -9 of unary calls: the holds are returned once",
  async run({ short, print }) {
    const kills = short ? KILLS.short : KILLS.long
    const run = new SuspenseRun()
    await run.run(kills)
    print(`${Number(run.suspendedNano) / 1e9} USD in suspense`)
    return [
      { what: "kills", seen: run.kills, atLeast: kills },
      { what: "of these, followed by a kill during the return", seen: run.killedReturns, atLeast: 1 },
      { what: "calls under way at the kills", seen: run.underWay, atLeast: kills * UNDER_WAY },
      { what: "amount found in suspense", seen: Number(run.suspendedNano) / 1e9, atLeast: 0.4, unit: "USD" },
      { what: "amount missing after the return", seen: Number(run.missingNano), atMost: 0, unit: "nano-USD" },
      { what: "amount returned in excess", seen: Number(run.surplusNano), atMost: 0, unit: "nano-USD" },
      { what: "requests left in suspense", seen: run.leftInSuspense, atMost: 0 },
      { what: "problems that the ledger's own verification finds", seen: run.problems, atMost: 0 },
    ]
  },
}
