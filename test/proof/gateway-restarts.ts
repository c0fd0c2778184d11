// Successive gateways on the same store, as a supervisor starts them, under a configuration that changes all the time.
// Clients read from here the current address and whether the gateway is ready.
import { renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { RunningGateway } from "../stage/gateway.ts"

/** A change of the file holds when its content has stayed the same for a while; credentials hold at once. */
const FILE_EVERY_MS = 350
const CREDENTIAL_EVERY_MS = 90
const READINESS_EVERY_MS = 50

export interface GatewayRestartOptions {
  readonly dataDir: string
  /** The configuration at this change. */
  readonly configAt: (change: number) => string
}

export class GatewayRestarts {
  /** Whether a load balancer would send requests. */
  isReady = false
  /** The end of each predecessor. */
  readonly codes: (number | null)[] = []
  private changes = 0
  private credentials = 0
  private readonly logged = { "config-reloaded": 0, "config-rejected": 0 }
  private errors = 0
  private isOver = false
  private readonly loops: Promise<void>[]

  private constructor(
    private current: RunningGateway,
    private readonly options: GatewayRestartOptions,
  ) {
    this.loops = [
      this.every(FILE_EVERY_MS, () => this.changeFile()),
      this.every(CREDENTIAL_EVERY_MS, () => this.changeCredential()),
      this.every(READINESS_EVERY_MS, () => this.lookWhetherReady()),
    ]
  }

  static async start(options: GatewayRestartOptions): Promise<GatewayRestarts> {
    const { dataDir, configAt } = options
    return new GatewayRestarts(await RunningGateway.start({ config: configAt(0), dataDir }), options)
  }

  get url(): string {
    return this.current.url
  }

  /** Changes applied, changes rejected, and other log lines that report a fault. */
  get seen(): { readonly reloads: number; readonly rejected: number; readonly errors: number } {
    const { "config-reloaded": reloaded, "config-rejected": rejected } = this.logged
    return { reloads: reloaded + this.credentials, rejected, errors: this.errors }
  }

  /** Stops the running gateway, waits until it has ended, and starts the next. */
  async replace(signal: "SIGTERM" | "SIGINT"): Promise<void> {
    const { dataDir, configAt } = this.options
    this.current.signal(signal)
    await this.bury()
    this.current = await RunningGateway.start({ config: configAt(0), dataDir })
  }

  async stop(): Promise<void> {
    this.isOver = true
    await Promise.all(this.loops)
    this.current.signal("SIGINT")
    await this.bury()
  }

  private async bury(): Promise<void> {
    const { current } = this
    this.codes.push(await current.exited())
    for (const event of ["config-reloaded", "config-rejected"] as const)
      this.logged[event] += current.logged(event).length
    this.errors += faults(current)
    await current.stop()
  }

  private async every(ms: number, act: () => void | Promise<void>): Promise<void> {
    while (!this.isOver) {
      await setTimeout(ms)
      // Between two gateways there is neither a process nor a folder, and `act` fails.
      await Promise.try(act).catch(() => {})
    }
  }

  private changeFile(): void {
    const file = join(this.current.folder, "trivium.yaml")
    this.changes++
    const isReplaced = this.changes % 2 === 0
    writeFileSync(isReplaced ? `${file}.next` : file, this.options.configAt(this.changes))
    if (isReplaced) renameSync(`${file}.next`, file)
  }

  /** A credential of an unused provider: everything is built anew. */
  private async changeCredential(): Promise<void> {
    const body = JSON.stringify({ api_key: `credential-${this.credentials}` })
    const answer = await this.current.administer("/admin/v1/providers/groq/credential", { method: "PUT", body })
    if (answer.ok) this.credentials++
  }

  private async lookWhetherReady(): Promise<void> {
    const { url } = this.current
    const isReady = await fetch(`${url}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    )
    if (url === this.current.url) this.isReady = isReady
  }
}

function faults(gateway: RunningGateway): number {
  const lines = gateway.output.stderr.split("\n").filter((line) => line.startsWith("{"))
  return lines
    .map((line) => JSON.parse(line) as { level: string; event: string })
    .filter(({ level, event }) => level === "error" && event !== "config-rejected").length
}
