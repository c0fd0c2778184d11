// A gateway and the simulator behind it, each with its own accounts: the gateway's charges and the simulator's bills.
import type { GatewayOptions } from "../../src/gateway.ts"
import { SimulatorServer } from "../../src/simulator/server.ts"
import { ChargeLog } from "../../src/simulator/simulated-charge.ts"
import { eventually } from "../stage/eventually.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { PROTOCOLS, type ProtocolName } from "./client.ts"

/** Prices in nano-USD per token, from which the usage can be derived from the cost. */
const INPUT_NANO = 1_000_000n
const OUTPUT_NANO = 1_000n

export interface BookedReceipt {
  readonly outcome: string
  readonly cost: string
  readonly model: string | null
  readonly provider: string | null
  readonly usage: Readonly<Record<string, number>> | null
  readonly as_booked: boolean | null
  readonly facts: {
    readonly basis?: string
    readonly attempts: readonly { readonly provider: string; readonly error?: string }[]
  }
}

export class MoneyFixture {
  private constructor(
    readonly gateway: InProcessGateway,
    readonly simulator: SimulatorServer,
    readonly bills: ChargeLog,
  ) {}

  static async open({ bookWith }: Pick<GatewayOptions, "bookWith"> = {}): Promise<MoneyFixture> {
    const bills = new ChargeLog()
    const simulator = await SimulatorServer.start({ host: "127.0.0.1", port: 0, simulator: { onCharge: bills.add } })
    const gateway = InProcessGateway.start({ config: configOf(simulator.url), ...(bookWith && { bookWith }) })
    return new MoneyFixture(gateway, simulator, bills)
  }

  async close(): Promise<void> {
    await this.gateway.stop()
    await this.simulator.stop()
  }

  /** The receipt of a request, once it has been settled. */
  async receipt(id: string): Promise<BookedReceipt> {
    let receipt: BookedReceipt | undefined
    const isThere = async () => {
      receipt = await this.look(id)
      return receipt !== undefined
    }
    await eventually(isThere, { what: `the receipt ${id}` })
    return receipt as BookedReceipt
  }

  /** Undefined where there is none. */
  async look(id: string): Promise<BookedReceipt | undefined> {
    const headers = { authorization: `Bearer ${this.gateway.key}` }
    const answer = await fetch(`${this.gateway.url}/v1/receipts/${id}`, { headers })
    return answer.status === 200 ? ((await answer.json()) as BookedReceipt) : undefined
  }

  /** The sum of all holds, in nano-USD. */
  get heldNano(): bigint {
    return this.gateway.gateway.keys.tenants.balanceOf("default")?.heldNano ?? 0n
  }
}

/** The tokens of a cost. */
export function tokensOf(cost: string): { input: number; output: number } {
  const [whole = "0", rest = ""] = cost.split(".")
  const nano = BigInt(whole) * 10n ** 9n + BigInt(rest.padEnd(9, "0"))
  return { input: Number(nano / INPUT_NANO), output: Number((nano % INPUT_NANO) / OUTPUT_NANO) }
}

/** The name of the model that an upstream of this protocol serves, and does what the words ask for. */
export function modelAt(protocol: ProtocolName, words = ""): string {
  return `t/${protocol}${words === "" ? "" : `@${words}`}`
}

export function configOf(url: string): string {
  const providers = PROTOCOLS.map((id) => `  at-${id}: { type: simulator, base_url: "${url}", protocols: [${id}] }`)
  const models = PROTOCOLS.map(
    (id) => `  - id: t/${id}
    context_window: 100000
    max_output_tokens: 50000
    pricing: { input: "1000", output: "1" }
    targets: [{ provider: at-${id}, model: m }]`,
  )
  return ["admin: { port: 0 }", "providers:", ...providers, "models:", ...models, ""].join("\n")
}
