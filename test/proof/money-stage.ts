// A gateway and the simulator behind it, each a process of its own with its own accounts.
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { SimulatedCharge } from "../../src/simulator/simulated-charge.ts"
import { type BookedReceipt, configOf } from "../money/money-fixture.ts"
import { RunningGateway } from "../stage/gateway.ts"
import { RunningSimulator } from "../stage/simulator.ts"

export class MoneyStage {
  private constructor(
    readonly gateway: RunningGateway,
    private readonly simulator: RunningSimulator,
    private readonly folder: string,
  ) {}

  static async start(): Promise<MoneyStage> {
    const folder = mkdtempSync(join(tmpdir(), "trivium-bills-"))
    const simulator = await RunningSimulator.start("--bill", join(folder, "bill.jsonl"))
    const gateway = await RunningGateway.start({ config: configOf(simulator.url) })
    return new MoneyStage(gateway, simulator, folder)
  }

  /** Found by the answer's own id, which passes through the gateway. */
  bills(): ReadonlyMap<string, SimulatedCharge> {
    const lines = readFileSync(join(this.folder, "bill.jsonl"), "utf8").split("\n").slice(0, -1)
    return new Map(lines.map((line) => JSON.parse(line) as SimulatedCharge).map((bill) => [bill.id, bill]))
  }

  /** Undefined where there is none. */
  async receipt(id: string): Promise<BookedReceipt | undefined> {
    const { url, key } = this.gateway
    const answer = await fetch(`${url}/v1/receipts/${id}`, { headers: { authorization: `Bearer ${key}` } })
    return answer.status === 200 ? ((await answer.json()) as BookedReceipt) : undefined
  }

  /** The sum of open holds, in USD. */
  async held(): Promise<number> {
    const { url, key } = this.gateway
    const answer = await fetch(`${url}/v1/key`, { headers: { authorization: `Bearer ${key}` } })
    return Number(((await answer.json()) as { held: string | null }).held ?? 0)
  }

  async problems(): Promise<number> {
    const answer = await this.gateway.administer("/admin/v1/ledger/verify", { method: "POST" })
    return ((await answer.json()) as { problems: unknown[] }).problems.length
  }

  async stop(): Promise<void> {
    await this.gateway.stop()
    await this.simulator.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
