// The composition root: the only file that knows every room, and how they are joined.
import { setTimeout } from "node:timers/promises"
import { hashingSecrets } from "./accounts/hashing-secret.ts"
import { Keys } from "./accounts/keys.ts"
import { GatewayError } from "./canonical/error.ts"
import { bundledModels } from "./catalog/bundled.ts"
import { Catalog, type Model } from "./catalog/catalog.ts"
import { joinModels } from "./catalog/overrides.ts"
import type { Config } from "./config/config.ts"
import { DEFAULT_TIMEOUTS, type House, type Timeouts } from "./exchange/call.ts"
import { recordFields, recordLevel, stackOf } from "./exchange/record.ts"
import { Running } from "./exchange/running.ts"
import { jsonAnswer } from "./http/answer.ts"
import { protocolRoutes } from "./http/protocol-routes.ts"
import { RouteTable } from "./http/route-table.ts"
import { Server } from "./http/server.ts"
import type { Route, Visit } from "./http/visit.ts"
import type { Protocol, Reading } from "./protocols/contract.ts"
import { openaiChat } from "./protocols/openai-chat/openai-chat.ts"
import { protocols } from "./protocols.ts"
import { openAccount } from "./providers/account.ts"
import type { Account, Provider } from "./providers/contract.ts"
import { simulatorProvider } from "./providers/simulator.ts"
import { compatibleProviders, knownProviders as realProviders } from "./providers/table.ts"
import { type RoutingTable, targetsOf } from "./routing/plan.ts"
import { simulator } from "./simulator/simulator.ts"
import type { Store } from "./store/contract.ts"
import { openSqlite } from "./store/sqlite/open.ts"
import type { Log } from "./telemetry/log.ts"
import { Deadlines } from "./transport/deadlines.ts"
import { httpSend } from "./transport/http-client.ts"
import { OffLoop } from "./transport/off-loop.ts"
import type { ReadResult, ReadTask } from "./worker.ts"

export const knownProviders: readonly Provider[] = [...realProviders, simulatorProvider]

const MAX_IN_FLIGHT = 2000

type Environment = Readonly<Record<string, string | undefined>>

/** Keys on the store of this configuration, for commands that work without a gateway. */
export function openKeys(config: Config, environment: Environment): { keys: Keys; close: () => void } {
  const store = openSqlite(config.storePath)
  return { keys: keysOn(store, config, environment), close: () => store.close() }
}

function keysOn(store: Store, config: Config, environment: Environment): Keys {
  return new Keys({ table: store.keys, secrets: hashingSecrets(config.dataDir, environment) })
}

export interface GatewayOptions {
  readonly config: Config
  readonly environment: Environment
  readonly log: Log
  readonly timeouts?: Partial<Timeouts>
}

export class Gateway {
  readonly keys: Keys
  private readonly store: Store
  private readonly server: Server
  private readonly deadlines = new Deadlines()
  private readonly running: Running
  private readonly log: Log
  private readonly timeouts: Timeouts
  private table: Table
  private ready = true

  constructor({ config, environment, log, timeouts }: GatewayOptions) {
    this.log = log
    this.timeouts = { ...DEFAULT_TIMEOUTS, ...timeouts }
    this.running = new Running(this.timeouts.connectMs)
    this.table = buildTable(config, httpSend)
    this.store = openSqlite(config.storePath)
    this.keys = keysOn(this.store, config, environment)
    const house: House = {
      table: () => this.table,
      deadlines: this.deadlines,
      timeouts: this.timeouts,
      running: this.running,
      readLarge: largeReader(),
      onFault: (cause) => log.line("error", "observer-failed", { stack: stackOf(cause) }),
    }
    this.server = new Server({
      ...config.server,
      routes: new RouteTable([...protocols.flatMap((each) => protocolRoutes(each, house)), ...this.healthRoutes()]),
      authenticate: (key) => this.keys.authenticate(key),
      maxInFlight: MAX_IN_FLIGHT,
      protocolAt,
      onRecord: (record) => log.line(recordLevel(record), "exchange", recordFields(record)),
    })
  }

  get url(): string {
    return this.server.url
  }

  /** Whether the simulator answers for every model, because no provider is configured. */
  get isDemo(): boolean {
    return this.table.isDemo
  }

  get modelCount(): number {
    return this.table.catalog.models.length
  }

  /** A model that can be called, preferably a small and well-known one. */
  get exampleModel(): string | undefined {
    const live = this.table.catalog.models.filter((model) => targetsOf(model, openaiChat.id, this.table).length > 0)
    return (live.find(({ id }) => id === "openai/gpt-4o-mini") ?? live[0])?.id
  }

  /** Serves by another configuration from the next request on. */
  reload(config: Config): void {
    this.table = buildTable(config, httpSend)
  }

  /** Lets what is under way end well, then ends it all the same. */
  async stop({ graceMs, drainMs }: { graceMs: number; drainMs: number }): Promise<void> {
    this.ready = false
    this.log.line("info", "stopping", { in_flight: this.server.inFlight })
    if (graceMs > 0) await setTimeout(graceMs)
    this.server.stopAccepting()
    await this.server.drained(drainMs)
    const error = new GatewayError("shutting_down", "The gateway is stopping. Try again.")
    this.running.endAll(error)
    await this.server.drained(1000)
    await this.server.close()
    this.store.close()
    this.log.line("info", "stopped")
    this.log.flush()
  }

  private healthRoutes(): Route[] {
    const health = { method: "GET", who: "anyone", bodyLimit: 0, protocol: openaiChat, generates: false } as const
    const say = (status: string, code: number) => (visit: Visit) => {
      visit.record.status = code
      return jsonAnswer({ status }, visit.record)
    }
    // Coding agents look whether somebody is there before they speak.
    const hello = { ...health, method: "HEAD", handle: say("ok", 200) } as const
    const greetings = ["", ...protocols.flatMap(({ prefixes }) => prefixes)].map((prefix) => `${prefix}/api/hello`)
    return [
      ...greetings.map((path) => ({ ...hello, name: `HEAD ${path}`, path })),
      { ...health, name: "GET /healthz", path: "/healthz", handle: say("ok", 200) },
      {
        ...health,
        name: "GET /readyz",
        path: "/readyz",
        handle: (visit) => (this.ready ? say("ready", 200) : say("stopping", 503))(visit),
      },
    ]
  }
}

/** Whose words a path is refused in that is none of ours. */
function protocolAt(path: string): Protocol {
  return protocols.find(({ prefixes }) => prefixes.some((prefix) => path.startsWith(`${prefix}/`))) ?? openaiChat
}

export interface Table extends RoutingTable {
  readonly isDemo: boolean
}

/** The models and accounts of one configuration. Without any account the simulator serves every model. */
export function buildTable(config: Config, send: Account["send"]): Table {
  const accounts = new Map<string, Account>()
  for (const settings of config.providers) {
    const provider = [...knownProviders, ...compatibleProviders].find(({ id }) => id === settings.type)
    const baseUrl = settings.baseUrl ?? provider?.baseUrl
    if (!provider || baseUrl === undefined || (provider.needsCredential && !settings.apiKey)) continue
    const { id, apiKey: credential } = settings
    const reach = provider === simulatorProvider ? simulator : send
    accounts.set(id, openAccount(provider, { id, baseUrl, credential, send: reach }))
  }
  const models = joinModels(bundledModels(), config.models)
  const isDemo = accounts.size === 0
  if (!isDemo) return { catalog: new Catalog(models), accounts, isDemo }
  const account = openAccount(simulatorProvider, { id: simulatorProvider.id, baseUrl: "simulator:", send: simulator })
  for (const { targets } of models) for (const { provider } of targets) accounts.set(provider, account)
  return { catalog: new Catalog(models.map(simulated)), accounts, isDemo }
}

/** Served where it always is, by the simulator in each host's place, under the name callers know. */
function simulated(model: Model): Model {
  return { ...model, targets: model.targets.map((target) => ({ ...target, model: model.id })) }
}

function largeReader(): House["readLarge"] {
  const offLoop = new OffLoop({ module: new URL("./worker.ts", import.meta.url) })
  return async (bytes, spoken): Promise<Reading> => {
    const result = await offLoop.run<ReadTask, ReadResult>({ ...spoken, bytes }, [bytes.buffer])
    if ("reading" in result) return result.reading
    throw new GatewayError(result.code, result.message, result.details)
  }
}
