// The composition root: the only file that knows every room, and how they are joined.
import { setTimeout } from "node:timers/promises"
import type { Caller } from "./accounts/caller.ts"
import { Credentials } from "./accounts/credentials.ts"
import { hashingSecrets } from "./accounts/hashing-secret.ts"
import { IdentifierSalt } from "./accounts/identifier-salt.ts"
import { Keys } from "./accounts/keys.ts"
import { Limits } from "./accounts/limits.ts"
import { Sealer } from "./accounts/sealing.ts"
import { Desk } from "./admin/desk.ts"
import type { GatewayView } from "./admin/house.ts"
import { KeptCredentials, modelStates, openAdministration, problemsOf } from "./administration.ts"
import { GatewayError } from "./canonical/error.ts"
import { checkAccounts } from "./cli/check.ts"
import type { Config, TracesSettings } from "./config/config.ts"
import type { Secret } from "./config/secret.ts"
import { TokenCounter } from "./counting/token-counter.ts"
import { openDiscovery, type UndiscoveredHost, undiscoveredHosts } from "./discovery-log.ts"
import { DEFAULT_TIMEOUTS, type House, type Timeouts } from "./exchange/call.ts"
import { Funds } from "./exchange/funds.ts"
import { inlineMedia } from "./exchange/inline-media.ts"
import { KeptSeals } from "./exchange/kept-seals.ts"
import { LimitOverruns } from "./exchange/limit-overruns.ts"
import { exampleModel } from "./exchange/models.ts"
import { type ExchangeRecord, recordFields, recordLevel, stackOf, tracedExchange } from "./exchange/record.ts"
import { Repeats } from "./exchange/repeats.ts"
import { RetryBudget } from "./exchange/retry-budget.ts"
import { Running } from "./exchange/running.ts"
import { StoredResponses } from "./exchange/stored-responses.ts"
import type { TranslatedRequest, WantedMedia } from "./exchange/translate-request.ts"
import { buildTable, type GatewayTable, providerTypes } from "./gateway-table.ts"
import { jsonAnswer } from "./http/answer.ts"
import { withDescription } from "./http/description-routes.ts"
import { entryRoutes } from "./http/entry-routes.ts"
import { keyRoute } from "./http/key-route.ts"
import type { PlainServer } from "./http/plain-server.ts"
import { protocolRoutes } from "./http/protocol-routes.ts"
import { receiptRoute } from "./http/receipt-route.ts"
import { responseRoutes } from "./http/response-routes.ts"
import { isForeignPath } from "./http/route-help.ts"
import { RouteTable } from "./http/route-table.ts"
import { Server } from "./http/server.ts"
import type { Route, Visit } from "./http/visit.ts"
import { Ledger } from "./ledger/ledger.ts"
import { StoreReadiness } from "./ledger/readiness.ts"
import type { Reading } from "./protocols/contract.ts"
import { openaiChat } from "./protocols/openai-chat/openai-chat.ts"
import { conversation } from "./protocols/openai-responses/conversation.ts"
import { openaiResponses } from "./protocols/openai-responses/openai-responses.ts"
import { codecs, protocols } from "./protocols.ts"
import { ProviderDesk } from "./provider-desk.ts"
import type { Account } from "./providers/contract.ts"
import type { ModelDiscovery } from "./providers/discovery.ts"
import { Affinity } from "./routing/affinity.ts"
import { Health } from "./routing/health.ts"
import { Turns } from "./routing/turns.ts"
import type { Store } from "./store/contract.ts"
import { openSqlite } from "./store/sqlite/open.ts"
import type { Log } from "./telemetry/log.ts"
import { Metrics } from "./telemetry/metrics.ts"
import { EXPOSITION_TYPE } from "./telemetry/registry.ts"
import type { Tracer } from "./telemetry/tracer.ts"
import { Deadlines } from "./transport/deadlines.ts"
import { networkSend, type Send } from "./transport/http-client.ts"
import { fetchMedia } from "./transport/media-fetch.ts"
import { OffLoop } from "./transport/off-loop.ts"
import { OneByOne } from "./transport/one-by-one.ts"
import { retryAfterMs } from "./transport/retry-after.ts"
import type { LargeTranslateTask, ReadTask, WorkerResult } from "./worker.ts"

/** How long a gateway that stops waits for its store to take what is owed. */
const UNWRITTEN_MS = 3000

const NO_PROVIDER =
  "it leaves no provider that can be called, so the configuration that was in force stays. Name a provider with its credential, or `simulator` as one"

/** Why an account is not used for now, and how to mend it. */
const ASIDE = {
  credential:
    "is refused by the provider. Another is used where there is one. Replace it, and see `trivium check` for what the provider says.",
  "spend-cap":
    "is out of credit, or at its spending limit. Another is used where there is one. Add credit or raise the limit at the provider.",
} as const

const CONFIG_FILE = "trivium.yaml"

type Environment = Readonly<Record<string, string | undefined>>

interface DeskOptions extends StoreOptions, Pick<GatewayOptions, "readConfig" | "configFile"> {}

interface StoreOptions {
  /** Called with what the store or its secret has lost; where it is left out, that is refused. */
  readonly onLoss?: ((what: string) => void) | undefined
}

/** The store, and the secret that its keys were made with: both as they were left, or neither. */
function openStore(
  config: Config,
  environment: Environment,
  { onLoss }: StoreOptions,
): { store: Store; secrets: Secret[] } {
  const store = openSqlite(config.storePath, { onLoss })
  try {
    const keyCount = () => store.keys.count()
    const { dataDir } = config
    return { store, secrets: hashingSecrets({ dataDir, environment, marks: store.secrets, keyCount, onLoss }) }
  } catch (thrown) {
    store.close()
    throw thrown
  }
}

/** Keys and books on the store of this configuration, as a start would find them, for commands without a gateway. */
export function openDesk(
  config: Config,
  environment: Environment,
  options: DeskOptions = {},
): { desk: Desk & { providers: ProviderDesk }; keys: Keys; close: () => void } {
  const { readConfig = () => config, configFile = CONFIG_FILE } = options
  const { store, secrets } = openStore(config, environment, options)
  const ledger = openLedger(store, config)
  ledger.recover()
  const keys = new Keys({ table: store.keys, tenants: store.tenants, money: ledger, secrets })
  const close = () => {
    ledger.stop()
    store.close()
  }
  const sync = () => store.sync()
  const kept = new KeptCredentials(
    new Credentials({ table: store.credentials, sealer: new Sealer(secrets) }),
    providerTypes,
  )
  const table = () => buildTable(kept.join(config), { send: networkSend(config.upstream) })
  const told = { config: () => config, onChange: () => {}, sync, readConfig, configFile }
  const desk = new Desk({ keys, ledger, sync })
  return { desk: Object.assign(desk, { providers: new ProviderDesk({ kept, table, ...told }) }), keys, close }
}

/** The keys alone. */
export function openKeys(config: Config, environment: Environment): { keys: Keys; close: () => void } {
  return openDesk(config, environment)
}

export interface GatewayOptions {
  readonly config: Config
  readonly environment: Environment
  readonly log: Log
  readonly timeouts?: Partial<Timeouts>
  readonly version?: string
  /** Reads the configuration anew, or this text in its place. */
  readonly readConfig?: (text?: string) => Config
  /** Its file, as an operator finds it. */
  readonly configFile?: string
  /** Starts although the store, or its secret, has lost something, and logs what. */
  readonly acceptLoss?: boolean | undefined
  /** What exchanges book with, if anything, in the ledger's place: to measure what it costs, and to show what it prevents. */
  readonly bookWith?: (ledger: Ledger) => House["ledger"]
}

export class Gateway {
  readonly keys: Keys
  readonly metrics: Metrics
  private readonly tracer: Promise<Tracer> | undefined
  private readonly store: Store
  private readonly ledger: Ledger
  private readonly desk: Desk
  private readonly server: Server
  private readonly admin: PlainServer
  private readonly kept: KeptCredentials
  private readonly deadlines = new Deadlines()
  private readonly running: Running
  private readonly log: Log
  private readonly timeouts: Timeouts
  private readonly send: Send
  private readonly discovery: ModelDiscovery
  private config: Config
  private table: GatewayTable
  private ready = true
  /** What is owed and waits for the store to work again. */
  private readonly unwritten = new Set<Promise<void>>()

  constructor(options: GatewayOptions) {
    const { config, environment, log, timeouts } = options
    this.log = log
    this.config = config
    this.timeouts = { ...DEFAULT_TIMEOUTS, ...timeouts }
    this.running = new Running()
    const onLoss = options.acceptLoss ? (reason: string) => log.line("warn", "loss-accepted", { reason }) : undefined
    const { store, secrets } = openStore(config, environment, { onLoss })
    this.store = store
    this.ledger = openLedger(this.store, config)
    const recovered = this.ledger.recover()
    if (recovered.holds > 0) log.line("warn", "holds-recovered", { holds: recovered.holds })
    this.keys = new Keys({ table: this.store.keys, tenants: this.store.tenants, money: this.ledger, secrets })
    this.desk = new Desk({ keys: this.keys, ledger: this.ledger, sync: () => this.store.sync() })
    const sealer = new Sealer(secrets)
    const [secret] = secrets
    if (!secret) throw new Error("there is always a secret")
    const credentials = new Credentials({ table: this.store.credentials, sealer })
    this.kept = new KeptCredentials(credentials, providerTypes)
    this.send = networkSend(config.upstream)
    this.discovery = openDiscovery(log, () => {
      this.table = this.tableOf(this.config)
    })
    this.table = this.tableOf(config)
    const mayFetch = () => this.config.media.fetch
    const seals = {
      seal: (plain: Uint8Array, place: string) => sealer.sealBytes(plain, place),
      open: (sealed: Uint8Array, place: string) => sealer.openBytes(sealed, place),
    }
    const onFault = (cause: unknown) => log.line("error", "observer-failed", { stack: stackOf(cause) })
    const responses = new StoredResponses({ table: this.store.responses, wording: conversation, ...seals, onFault })
    responses.dropExpired()
    const house: House = {
      table: () => this.table,
      ...this.routing(),
      deadlines: this.deadlines,
      timeouts: this.timeouts,
      running: this.running,
      ...largeRequests(),
      codecs,
      seals: new KeptSeals(),
      ledger: options.bookWith ? options.bookWith(this.ledger) : this.ledger,
      repeats: new Repeats({ table: this.store.repeats, ...seals }),
      responses,
      identifiers: new IdentifierSalt(secret),
      tokens: new TokenCounter(new URL("./token-worker.ts", import.meta.url)),
      get fetchMedia() {
        return mayFetch() ? (addresses: readonly string[]) => inlineMedia(addresses, fetchMedia) : undefined
      },
      onUnwritten: (writing) => {
        this.unwritten.add(writing)
        void writing.finally(() => this.unwritten.delete(writing))
      },
      largeInTurn: new OneByOne(),
      onFault,
    }
    const freeOf = (caller: Caller) => this.keys.balanceOf(caller)?.freeNano ?? null
    const funds = new Funds({ ledger: this.ledger, freeOf, table: () => this.table })
    this.server = new Server({
      ...config.server,
      routes: new RouteTable(
        withDescription(
          [
            ...protocols.flatMap((each) => protocolRoutes(each, house)),
            ...responseRoutes({ protocol: openaiResponses, responses }),
            ...this.ownRoutes(),
            ...this.healthRoutes(),
            ...entryRoutes(openaiChat),
          ],
          { protocol: openaiChat, version: options.version ?? "0" },
        ),
        { isForeign: isForeignPath },
      ),
      authenticate: (key) => this.keys.authenticate(key),
      checkFunds: (caller) => funds.check(caller),
      limits: new Limits({ requestsPerMinute: () => this.config.defaults.requestsPerMinute }),
      deadlines: this.deadlines,
      usualProtocol: openaiChat,
      traced: config.traces !== undefined,
      onFault: (cause) => log.line("error", "listener-failed", { stack: stackOf(cause) }),
      onRecord: (record) => this.tell(record),
      onShed: (reason) => this.metrics.countShed(reason),
    })
    this.metrics = new Metrics({
      version: options.version ?? "0",
      inFlight: () => this.server.inFlight,
      bodyBytes: () => this.server.bodies.inUse,
      suspenseNano: lastRead(() => this.ledger.suspense.sumNano),
      debtNano: lastRead(() => -(this.ledger.balance("debt")?.postedNano ?? 0n)),
      onLoopDelay: (delayMs) => this.server.looked(delayMs),
    })
    if (config.traces)
      this.tracer = openTracer(config.traces, { metrics: this.metrics, log, version: options.version ?? "0" })
    this.admin = this.openAdmin(options)
    this.discovery.follow(this.table.accounts.values())
  }

  private openAdmin(options: GatewayOptions) {
    const {
      config,
      environment,
      log,
      version = "0",
      readConfig = () => this.config,
      configFile = CONFIG_FILE,
    } = options
    const { desk, kept } = this
    const startedAt = performance.now()
    const view: GatewayView = {
      status: () => ({
        version,
        uptime_seconds: Math.floor((performance.now() - startedAt) / 1000),
        demo: this.isDemo,
        in_flight: this.server.inFlight,
        models: this.modelCount,
      }),
      models: () => modelStates(this.table),
      configProblems: (text) => problemsOf(() => readConfig(text)),
      check: () => checkAccounts(this.table, { config: this.kept.join(this.config) }),
      metrics: () => ({ text: this.metrics.expose(), type: EXPOSITION_TYPE }),
      providers: new ProviderDesk({
        kept,
        config: () => this.config,
        table: () => this.table,
        onChange: () => this.changeAccounts(),
        sync: () => this.store.sync(),
        readConfig,
        configFile,
      }),
    }
    const onFault = (cause: unknown) => log.line("error", "administration-failed", { stack: stackOf(cause) })
    return openAdministration({ config, environment, view, desk, version, server: this.server, onFault })
  }

  /** What exchanges learn from each other about where to go. */
  private routing(): Pick<House, "health" | "affinity" | "turns" | "retries" | "chance" | "overruns"> {
    const now = () => performance.now()
    const chance = () => Math.random()
    const health = new Health({ now, chance, onAside: (account, why) => this.tellAside(account, why) })
    const [affinity, turns, retries, overruns] = [
      new Affinity({ now }),
      new Turns(),
      new RetryBudget(now),
      new LimitOverruns(),
    ]
    return { health, affinity, turns, retries, chance, overruns }
  }

  private tellAside(account: Account, why: keyof typeof ASIDE): void {
    const keys = this.table.accounts.get(account.id) ?? []
    const which = keys.length > 1 ? `Key ${keys.indexOf(account) + 1} of ${keys.length} at` : "The account at"
    this.log.line("warn", "account-set-aside", { provider: account.id, reason: `${which} ${account.id} ${ASIDE[why]}` })
  }

  /** Told once of every exchange, when it is over. */
  private tell(record: ExchangeRecord): void {
    this.log.line(recordLevel(record), "exchange", recordFields(record))
    this.metrics.observe(record)
    if (!this.tracer) return
    const traced = tracedExchange(record)
    void this.tracer.then((tracer) => tracer.trace(traced, record.traceparent))
  }

  /** The text of a key, where there was none yet; it survives a loss of power. */
  async firstKey(): Promise<string | undefined> {
    if (!this.keys.isEmpty()) return undefined
    const { text } = this.keys.create({ name: "first" })
    await this.store.sync()
    return text
  }

  get adminUrl(): string {
    return this.admin.url
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

  /** Where models are still to be discovered. */
  get undiscovered(): readonly UndiscoveredHost[] {
    return undiscoveredHosts(this.table.accounts.values(), this.discovery)
  }

  /** A chat model that can be called, preferably one that the catalogue recommends. */
  get exampleModel(): string | undefined {
    return exampleModel(this.table, openaiChat.id)?.id
  }

  /** Serves by another configuration from the next request on; throws where that leaves no provider of those there are. */
  reload(config: Config): void {
    const table = this.tableOf(config)
    if (table.accounts.size === 0) throw new Error(NO_PROVIDER)
    this.config = config
    this.table = table
    this.discovery.follow(table.accounts.values())
  }

  /** After a credential was set or removed: to remove the last one leaves nobody to call. */
  private changeAccounts(): void {
    this.table = this.tableOf(this.config)
    this.discovery.follow(this.table.accounts.values())
  }

  private tableOf(config: Config): GatewayTable {
    return buildTable(this.kept.join(config), {
      send: this.send,
      before: this.table,
      offeredAt: (account) => this.discovery.offeredAt(account),
      onCredentialFailure: (provider, { message }) =>
        this.log.line("warn", "credential-not-obtained", { provider, reason: message }),
    })
  }

  /** Lets what is under way end well, then ends it all the same. */
  async stop({ graceMs, drainMs }: { graceMs: number; drainMs: number }): Promise<void> {
    this.ready = false
    this.discovery.stop()
    this.log.line("info", "stopping", { in_flight: this.server.inFlight })
    this.server.bidFarewell()
    if (graceMs > 0) await setTimeout(graceMs)
    this.server.stopAccepting()
    await this.server.drained(drainMs)
    const error = new GatewayError("shutting_down", "The gateway is stopping. Try again.")
    this.running.endAll(error)
    await this.server.drained(1000)
    await this.server.close()
    await this.admin.close()
    this.metrics.stop()
    await (await this.tracer)?.stop()
    await Promise.race([Promise.all(this.unwritten), setTimeout(UNWRITTEN_MS)])
    this.ledger.stop()
    this.store.close()
    this.log.line("info", "stopped")
    this.log.flush()
  }

  /** Where callers ask for what is their own. */
  private ownRoutes(): Route[] {
    const { keys, desk } = this
    const own = { protocol: openaiChat, protocols }
    return [
      keyRoute({
        ...own,
        balanceOf: (caller) => keys.balanceOf(caller),
        spendingOf: ({ id, tenant, budgetsInForce }) => desk.keys.spendingOf({ id, tenant, budgets: budgetsInForce }),
      }),
      receiptRoute({ ...own, receiptOf: (id, tenant) => desk.books.receipt(id, tenant) }),
    ]
  }

  private healthRoutes(): Route[] {
    const health = { method: "GET", who: "anyone", bodyLimit: 0, protocol: openaiChat, generates: false } as const
    const say = (status: string, code: number) => (visit: Visit) => {
      visit.record.status = code
      return jsonAnswer({ status }, visit.record)
    }
    const store = new StoreReadiness(this.ledger)
    const readiness = () => {
      if (!this.ready) return say("stopping", 503)
      return store.isWritable() ? say("ready", 200) : say("store_unavailable", 503)
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
        handle: (visit) => readiness()(visit),
      },
    ]
  }
}

const HOUR_MS = 3_600_000

function openLedger(store: Store, { ledger: { suspenseHours } }: Config): Ledger {
  return new Ledger({ table: store.ledger, returnSuspenseAfterMs: suspenseHours * HOUR_MS })
}

/** A sum of the store, and while that fails the last one it told. */
function lastRead(read: () => bigint): () => bigint {
  let last = 0n
  return () => {
    try {
      last = read()
    } catch {
      // Whoever looks at metrics wants all the others just then.
    }
    return last
  }
}

/** Who asks for no traces does not load what makes them. */
async function openTracer(
  { headers, serviceName, ...traces }: TracesSettings,
  { metrics, log, version }: { metrics: Metrics; log: Log; version: string },
): Promise<Tracer> {
  const { Tracer } = await import("./telemetry/tracer.ts")
  return new Tracer({
    ...traces,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()])),
    resource: { "service.name": serviceName, "service.version": version },
    retryAfterMs,
    onSpans: (result, count) => metrics.countSpans(result, count),
    onChange: ({ takes, status }) =>
      log.line(takes ? "info" : "warn", takes ? "traces-taken" : "traces-refused", { status }),
  })
}

/** What is done about requests too large for the event loop. */
function largeRequests(): Pick<House, "readLarge" | "translateLarge"> {
  const offLoop = new OffLoop({ module: new URL("./worker.ts", import.meta.url) })
  const run = async <Task, Result>(task: Task, transfer: ArrayBuffer[] = []): Promise<Result> => {
    const result = await offLoop.run<Task, WorkerResult<Result>>(task, transfer)
    if ("result" in result) return result.result
    throw new GatewayError(result.code, result.message, result.details)
  }
  return {
    readLarge: (bytes, spoken) => run<ReadTask, Reading>({ ...spoken, bytes }, [bytes.buffer]),
    translateLarge: (text, translate) => run<LargeTranslateTask, TranslatedRequest | WantedMedia>({ text, translate }),
  }
}
