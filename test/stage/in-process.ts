// The gateway inside the test's own process, on a real socket: for limits too long to wait for in a real one.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { loadConfig } from "../../src/config/load-config.ts"
import type { ExchangeTimeouts } from "../../src/exchange/exchange-deps.ts"
import { Gateway, type GatewayOptions } from "../../src/gateway.ts"
import { knownProviders } from "../../src/gateway-table.ts"
import { Log } from "../../src/telemetry/log.ts"

interface InProcessOptions extends Pick<GatewayOptions, "bookWith"> {
  readonly config: string
  readonly timeouts?: Partial<ExchangeTimeouts>
}

export class InProcessGateway {
  private constructor(
    readonly gateway: Gateway,
    readonly key: string,
    private readonly folder: string,
    private readonly lines: string[],
  ) {}

  static start({ config, timeouts = {}, bookWith }: InProcessOptions): InProcessGateway {
    const folder = mkdtempSync(join(tmpdir(), "trivium-in-process-"))
    writeFileSync(join(folder, "trivium.yaml"), config)
    const sources = { flags: { port: 0 }, environment: {}, workingDir: folder, knownProviders }
    const lines: string[] = []
    const log = new Log({ write: (text) => lines.push(...text.trimEnd().split("\n")), gatherMs: 0 })
    const books = bookWith && { bookWith }
    const gateway = new Gateway({ config: loadConfig(sources), environment: {}, log, timeouts, ...books })
    const { text: key } = gateway.keys.create({ name: "test", requestsPerMinute: 1_000_000_000 })
    return new InProcessGateway(gateway, key, folder, lines)
  }

  get url(): string {
    return this.gateway.url
  }

  /** The log lines so far of one event, such as `exchange`. */
  logged(event: string): Record<string, unknown>[] {
    return this.lines.map((line) => JSON.parse(line)).filter((line) => line.event === event)
  }

  chat(body: unknown, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      ...init,
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async stop({ graceMs = 0, drainMs = 0 } = {}): Promise<void> {
    await this.gateway.stop({ graceMs, drainMs })
    rmSync(this.folder, { recursive: true, force: true })
  }
}
