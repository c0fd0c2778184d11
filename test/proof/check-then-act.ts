// The negative control: a gateway that checks the balance, calls, and books afterwards. In all else it is the gateway.
// The money rows of the proof must fail here: check-then-act.ts DATA
import { GatewayError } from "../../src/canonical/gateway-error.ts"
import { usdOfNano } from "../../src/canonical/usd.ts"
import { loadConfig } from "../../src/config/load-config.ts"
import type { ExchangeLedger } from "../../src/exchange/exchange-deps.ts"
import { Gateway } from "../../src/gateway.ts"
import { knownProviders } from "../../src/gateway-table.ts"
import type { Ledger } from "../../src/ledger/ledger.ts"
import { Log } from "../../src/telemetry/log.ts"

type HoldWish = Parameters<ExchangeLedger["hold"]>[0]
type SettleInput = Parameters<ExchangeLedger["settle"]>[1]

class CheckThenAct implements ExchangeLedger {
  /** In memory only: a killed process loses its record of calls. */
  private readonly open = new Map<string, HoldWish>()

  constructor(private readonly ledger: Ledger) {}

  async hold(wish: HoldWish): Promise<void> {
    const { requestId, keyId, tenant, amountNano, budgets = [], at } = wish
    const balance = this.ledger.balance(`key:${keyId}`) ?? this.ledger.balance(`tenant:${tenant}`)
    const left = [balance?.freeNano, ...budgets.map((budget) => this.ledger.leftOf(budget, { keyId, tenant, at }))]
    const short = left.find((nano) => typeof nano === "bigint" && nano < amountNano)
    if (typeof short === "bigint") throw refusal(amountNano, short)
    this.open.set(requestId, wish)
  }

  balance(account: string) {
    return this.ledger.balance(account)
  }

  leftOf(...input: Parameters<ExchangeLedger["leftOf"]>) {
    return this.ledger.leftOf(...input)
  }

  async extend(): Promise<boolean> {
    return true
  }

  note(): void {}

  flush(): void {}

  async settle(requestId: string, settlement: SettleInput) {
    const wish = this.open.get(requestId)
    this.open.delete(requestId)
    if (wish) await this.ledger.hold({ ...wish, amountNano: 0n })
    return this.ledger.settle(requestId, settlement)
  }

  async release(requestId: string, outcome?: Parameters<ExchangeLedger["release"]>[1]) {
    this.open.delete(requestId)
    return this.ledger.release(requestId, outcome)
  }
}

function refusal(neededNano: bigint, leftNano: bigint): GatewayError {
  const [needed, left] = [usdOfNano(neededNano), usdOfNano(leftNano)]
  return new GatewayError("insufficient_balance", `This request may cost up to ${needed} USD, and ${left} USD is left.`)
}

const [data = ""] = process.argv.slice(2)
const flags = { port: 0, adminPort: "0", data }
const gateway = new Gateway({
  config: loadConfig({ flags, environment: {}, workingDir: process.cwd(), knownProviders }),
  environment: {},
  log: new Log({ write: (text) => process.stderr.write(text) }),
  bookWith: (ledger) => new CheckThenAct(ledger),
})
process.on("SIGINT", async () => {
  await gateway.stop({ graceMs: 0, drainMs: 1000 })
  process.exit(0)
})
console.log(`administration on ${gateway.adminUrl}\nlistening on ${gateway.url}`)
