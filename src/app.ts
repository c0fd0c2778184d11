// The composition root: the only file that knows every room, and how they are joined.
import { setTimeout } from "node:timers/promises"
import type { Caller } from "./access/caller.ts"
import { KeyRegistry } from "./access/key-registry.ts"
import { RateLimiter } from "./access/limits/rate-limiter.ts"
import { loadHashingSecrets } from "./access/secrets/hashing-secret.ts"
import { IdentifierSalt } from "./access/secrets/identifier-salt.ts"
import { Sealer } from "./access/secrets/sealer.ts"
import { StoredCredentials } from "./access/secrets/stored-credentials.ts"
import type { GatewayView } from "./admin/gateway-view.ts"
import { AdminService } from "./admin/services/admin-service.ts"
import { modelStates, openAdministration, ProviderCredentials, problemsOf } from "./administration.ts"
import { GatewayError } from "./canonical/gateway-error.ts"
import { checkAccounts } from "./cli/check-accounts.ts"
import type { GatewayConfig, TracesSettings } from "./config/config.ts"
import type { Secret } from "./config/secret.ts"
import { TokenCounter } from "./counting/token-counter.ts"
import { openDiscovery, type UndiscoveredHost, undiscoveredHosts } from "./discovery-log.ts"
import { RetryBudget } from "./exchange/attempt/retry-budget.ts"
import { UpstreamCalls } from "./exchange/attempt/upstream-calls.ts"
import { exampleModel } from "./exchange/callable-models.ts"
import { FundsCheck } from "./exchange/charge/funds-check.ts"
import { LimitOverruns } from "./exchange/charge/limit-overruns.ts"
import { IdempotencyRegistry } from "./exchange/conversations/idempotency.ts"
import { SealCache } from "./exchange/conversations/seal-cache.ts"
import { StoredResponses } from "./exchange/conversations/stored-responses.ts"
import { DEFAULT_TIMEOUTS, type ExchangeDeps, type ExchangeTimeouts } from "./exchange/exchange-deps.ts"
import {
  type ExchangeRecord,
  recordFields,
  recordLevel,
  stackOf,
  toTracedExchange,
} from "./exchange/exchange-record.ts"
import { inlineMedia } from "./exchange/inline-media.ts"
import type { TranslatedRequest, WantedMedia } from "./exchange/lanes/translate-request.ts"
import { buildTable, type GatewayTable, providerTypes } from "./gateway-table.ts"
import { withDescription } from "./http/description-routes.ts"
import { entryRoutes } from "./http/entry-routes.ts"
import { GatewayServer } from "./http/gateway-server.ts"
import { jsonResponse } from "./http/json-response.ts"
import { keyRoute } from "./http/key-route.ts"
import type { PlainServer } from "./http/plain-server.ts"
import { protocolRoutes } from "./http/protocol-routes.ts"
import { receiptRoute } from "./http/receipt-route.ts"
import type { GatewayRoute, RequestContext } from "./http/request-context.ts"
import { responseRoutes } from "./http/response-routes.ts"
import { isForeignPath } from "./http/route-help.ts"
import { RouteTable } from "./http/route-table.ts"
import { Ledger } from "./ledger/ledger.ts"
import { StoreReadiness } from "./ledger/store-readiness.ts"
import { openaiChat } from "./protocols/chat/openai-chat/openai-chat.ts"
import { conversation } from "./protocols/chat/openai-responses/conversation/stored-conversation.ts"
import { openaiResponses } from "./protocols/chat/openai-responses/openai-responses.ts"
import type { RequestSummary } from "./protocols/contract.ts"
import { codecs, protocols } from "./protocols.ts"
import { ProviderService } from "./provider-service.ts"
import type { ProviderAccount } from "./providers/contract.ts"
import type { ModelDiscovery } from "./providers/discovery.ts"
import { Affinity } from "./routing/affinity.ts"
import { HealthMonitor } from "./routing/health-monitor.ts"
import { RotationCounter } from "./routing/rotation-counter.ts"
import type { Store } from "./store/contract.ts"
import { openSqlite } from "./store/sqlite/open-sqlite.ts"
import { GatewayMetrics } from "./telemetry/gateway-metrics.ts"
import type { Log } from "./telemetry/log.ts"
import { EXPOSITION_TYPE } from "./telemetry/metric-registry.ts"
import type { Tracer } from "./telemetry/tracer.ts"
import { DeadlineTimer } from "./transport/deadline-timer.ts"
import { SerialQueue } from "./transport/event-loop/serial-queue.ts"
import { TaskWorker } from "./transport/event-loop/task-worker.ts"
import { networkSend, type SendRequest } from "./transport/http-client.ts"
import { fetchMedia } from "./transport/media-fetch.ts"
import { retryAfterMs } from "./transport/retry-after.ts"
import type { LargeTranslateTask, ReadRequestTask, WorkerResult } from "./worker.ts"

/** How long a gateway that stops waits for its store to take what is owed. */
const UNWRITTEN_MS = 3000

const NO_PROVIDER =
  "it configures no callable provider, so the previous configuration stays in force. Add a provider with its credential, or `simulator`"

/** Why an account is not used for now, and how to mend it. */
const ASIDE = {
  credential:
    "is rejected by the provider. The gateway uses other accounts or providers where configured. Replace it, and run `trivium check` to see the provider's response.",
  "spend-cap":
    "is out of credit or has reached its spending limit. The gateway uses other accounts or providers where configured. Add credit or raise the limit at the provider.",
} as const

const CONFIG_FILE = "trivium.yaml"

type ProcessEnvironment = Readonly<Record<string, string | undefined>>

interface OpenAdminOptions extends OpenStoreOptions, Pick<GatewayOptions, "readConfig" | "configFile"> {}

interface OpenStoreOptions {
  /** Called with what the store or its secret has lost; where it is left out, that is refused. */
  readonly onLoss?: ((what: string) => void) | undefined
}

/** The store, and the secret that its keys were made with: both as they were left, or neither. */
function openStore(
  config: GatewayConfig,
  environment: ProcessEnvironment,
  { onLoss }: OpenStoreOptions,
): { store: Store; secrets: Secret[] } {
  const store = openSqlite(config.storePath, { onLoss })
  try {
    const keyCount = () => store.keys.count()
    const { dataDir } = config
    return { store, secrets: loadHashingSecrets({ dataDir, environment, marks: store.secrets, keyCount, onLoss }) }
  } catch (thrown) {
    store.close()
    throw thrown
  }
}

/** Keys and books on the store of this configuration, as a start would find them, for commands without a gateway. */
export function openAdminService(
  config: GatewayConfig,
  environment: ProcessEnvironment,
  options: OpenAdminOptions = {},
): { adminService: AdminService & { providers: ProviderService }; keys: KeyRegistry; close: () => void } {
  const { readConfig = () => config, configFile = CONFIG_FILE } = options
  const { store, secrets } = openStore(config, environment, options)
  const ledger = openLedger(store, config)
  ledger.recover()
  const keys = new KeyRegistry({ table: store.keys, tenants: store.tenants, balances: ledger, secrets })
  const close = () => {
    ledger.stop()
    store.close()
  }
  const sync = () => store.sync()
  const kept = new ProviderCredentials(
    new StoredCredentials({ table: store.credentials, sealer: new Sealer(secrets) }),
    providerTypes,
  )
  const table = () => buildTable(kept.withCredentials(config), { send: networkSend(config.upstream) })
  const told = { config: () => config, onChange: () => {}, sync, readConfig, configFile }
  const adminService = new AdminService({ keys, ledger, sync })
  return {
    adminService: Object.assign(adminService, {
      providers: new ProviderService({ credentials: kept, table, ...told }),
    }),
    keys,
    close,
  }
}

/** The keys alone. */
export function openKeys(
  config: GatewayConfig,
  environment: ProcessEnvironment,
): { keys: KeyRegistry; close: () => void } {
  return openAdminService(config, environment)
}

export interface GatewayOptions {
  readonly config: GatewayConfig
  readonly environment: ProcessEnvironment
  readonly log: Log
  readonly timeouts?: Partial<ExchangeTimeouts>
  readonly version?: string
  /** Reads the configuration anew, or this text in its place. */
  readonly readConfig?: (text?: string) => GatewayConfig
  /** Its file, as an operator finds it. */
  readonly configFile?: string
  /** Starts although the store, or its secret, has lost something, and logs what. */
  readonly acceptLoss?: boolean | undefined
  /** What exchanges book with, if anything, in the ledger's place: to measure what it costs, and to show what it prevents. */
  readonly bookWith?: (ledger: Ledger) => ExchangeDeps["ledger"]
}

export class Gateway {
  readonly keys: KeyRegistry
  readonly metrics: GatewayMetrics
  private readonly tracer: Promise<Tracer> | undefined
  private readonly store: Store
  private readonly ledger: Ledger
  private readonly adminService: AdminService
  private readonly server: GatewayServer
  private readonly admin: PlainServer
  private readonly credentials: ProviderCredentials
  private readonly deadlines = new DeadlineTimer()
  private readonly upstreamCalls: UpstreamCalls
  private readonly log: Log
  private readonly timeouts: ExchangeTimeouts
  private readonly send: SendRequest
  private readonly discovery: ModelDiscovery
  private config: GatewayConfig
  private table: GatewayTable
  private ready = true
  /** What is owed and waits for the store to work again. */
  private readonly pendingWrites = new Set<Promise<void>>()

  constructor(options: GatewayOptions) {
    const { config, environment, log, timeouts } = options
    this.log = log
    this.config = config
    this.timeouts = { ...DEFAULT_TIMEOUTS, ...timeouts }
    this.upstreamCalls = new UpstreamCalls()
    const onLoss = options.acceptLoss ? (reason: string) => log.line("warn", "loss-accepted", { reason }) : undefined
    const { store, secrets } = openStore(config, environment, { onLoss })
    this.store = store
    this.ledger = openLedger(this.store, config)
    const recovered = this.ledger.recover()
    if (recovered.holds > 0) log.line("warn", "holds-recovered", { holds: recovered.holds })
    this.keys = new KeyRegistry({ table: this.store.keys, tenants: this.store.tenants, balances: this.ledger, secrets })
    this.adminService = new AdminService({ keys: this.keys, ledger: this.ledger, sync: () => this.store.sync() })
    const sealer = new Sealer(secrets)
    const [secret] = secrets
    if (!secret) throw new Error("there is always a secret")
    const credentials = new StoredCredentials({ table: this.store.credentials, sealer })
    this.credentials = new ProviderCredentials(credentials, providerTypes)
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
    const deps: ExchangeDeps = {
      table: () => this.table,
      ...this.routing(),
      deadlines: this.deadlines,
      timeouts: this.timeouts,
      upstreamCalls: this.upstreamCalls,
      ...largeRequestWorkers(),
      codecs,
      sealCache: new SealCache(),
      ledger: options.bookWith ? options.bookWith(this.ledger) : this.ledger,
      repeats: new IdempotencyRegistry({ table: this.store.idempotency, ...seals }),
      responses,
      identifiers: new IdentifierSalt(secret),
      tokens: new TokenCounter(new URL("./token-worker.ts", import.meta.url)),
      get fetchMedia() {
        return mayFetch() ? (addresses: readonly string[]) => inlineMedia(addresses, fetchMedia) : undefined
      },
      onUnwritten: (writing) => {
        this.pendingWrites.add(writing)
        void writing.finally(() => this.pendingWrites.delete(writing))
      },
      largeRequestQueue: new SerialQueue(),
      onFault,
    }
    const freeOf = (caller: Caller) => this.keys.balanceOf(caller)?.freeNano ?? null
    const funds = new FundsCheck({ ledger: this.ledger, freeOf, table: () => this.table })
    this.server = new GatewayServer({
      ...config.server,
      routes: new RouteTable(
        withDescription(
          [
            ...protocols.flatMap((each) => protocolRoutes(each, deps)),
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
      limits: new RateLimiter({ requestsPerMinute: () => this.config.defaults.requestsPerMinute }),
      deadlines: this.deadlines,
      usualProtocol: openaiChat,
      traced: config.traces !== undefined,
      onFault: (cause) => log.line("error", "listener-failed", { stack: stackOf(cause) }),
      onRecord: (record) => this.reportExchange(record),
      onShed: (reason) => this.metrics.countShed(reason),
    })
    this.metrics = new GatewayMetrics({
      version: options.version ?? "0",
      inFlight: () => this.server.inFlight,
      bodyBytes: () => this.server.bodies.inUse,
      suspenseNano: cacheLastRead(() => this.ledger.suspense.sumNano),
      debtNano: cacheLastRead(() => -(this.ledger.balance("debt")?.postedNano ?? 0n)),
      onLoopDelay: (delayMs) => this.server.onLoopDelay(delayMs),
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
    const { adminService, credentials } = this
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
      check: () => checkAccounts(this.table, { config: this.credentials.withCredentials(this.config) }),
      metrics: () => ({ text: this.metrics.expose(), type: EXPOSITION_TYPE }),
      providers: new ProviderService({
        credentials: credentials,
        config: () => this.config,
        table: () => this.table,
        onChange: () => this.changeAccounts(),
        sync: () => this.store.sync(),
        readConfig,
        configFile,
      }),
    }
    const onFault = (cause: unknown) => log.line("error", "administration-failed", { stack: stackOf(cause) })
    return openAdministration({ config, environment, view, adminService, version, server: this.server, onFault })
  }

  /** What exchanges learn from each other about where to go. */
  private routing(): Pick<ExchangeDeps, "health" | "affinity" | "rotation" | "retries" | "chance" | "overruns"> {
    const now = () => performance.now()
    const chance = () => Math.random()
    const health = new HealthMonitor({ now, chance, onSetAside: (account, why) => this.logAccountAside(account, why) })
    const [affinity, rotation, retries, overruns] = [
      new Affinity({ now }),
      new RotationCounter(),
      new RetryBudget(now),
      new LimitOverruns(),
    ]
    return { health, affinity, rotation, retries, chance, overruns }
  }

  private logAccountAside(account: ProviderAccount, why: keyof typeof ASIDE): void {
    const keys = this.table.accounts.get(account.id) ?? []
    const which = keys.length > 1 ? `Key ${keys.indexOf(account) + 1} of ${keys.length} at` : "The account at"
    this.log.line("warn", "account-set-aside", { provider: account.id, reason: `${which} ${account.id} ${ASIDE[why]}` })
  }

  /** Called once per exchange, when it ends. */
  private reportExchange(record: ExchangeRecord): void {
    this.log.line(recordLevel(record), "exchange", recordFields(record))
    this.metrics.observe(record)
    if (!this.tracer) return
    const traced = toTracedExchange(record)
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
  reload(config: GatewayConfig): void {
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

  private tableOf(config: GatewayConfig): GatewayTable {
    return buildTable(this.credentials.withCredentials(config), {
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
    this.server.closeAfterNextResponse()
    if (graceMs > 0) await setTimeout(graceMs)
    this.server.stopAccepting()
    await this.server.waitUntilDrained(drainMs)
    const error = new GatewayError("shutting_down", "The gateway is shutting down. Try again.")
    this.upstreamCalls.endAll(error)
    await this.server.waitUntilDrained(1000)
    await this.server.close()
    await this.admin.close()
    this.metrics.stop()
    await (await this.tracer)?.stop()
    await Promise.race([Promise.all(this.pendingWrites), setTimeout(UNWRITTEN_MS)])
    this.ledger.stop()
    this.store.close()
    this.log.line("info", "stopped")
    this.log.flush()
  }

  /** Where callers ask for what is their own. */
  private ownRoutes(): GatewayRoute[] {
    const { keys, adminService } = this
    const own = { protocol: openaiChat, protocols }
    return [
      keyRoute({
        ...own,
        balanceOf: (caller) => keys.balanceOf(caller),
        spendingOf: ({ id, tenant, budgetsInForce }) =>
          adminService.keys.spendingOf({ id, tenant, budgets: budgetsInForce }),
      }),
      receiptRoute({ ...own, receiptOf: (id, tenant) => adminService.ledger.receipt(id, tenant) }),
    ]
  }

  private healthRoutes(): GatewayRoute[] {
    const health = { method: "GET", who: "anyone", bodyLimit: 0, protocol: openaiChat, generates: false } as const
    const say = (status: string, code: number) => (context: RequestContext) => {
      context.record.status = code
      return jsonResponse({ status }, context.record)
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
        handle: (context) => readiness()(context),
      },
    ]
  }
}

const HOUR_MS = 3_600_000

function openLedger(store: Store, { ledger: { suspenseHours } }: GatewayConfig): Ledger {
  return new Ledger({ table: store.ledger, returnSuspenseAfterMs: suspenseHours * HOUR_MS })
}

/** A sum of the store, and while that fails the last one it told. */
function cacheLastRead(read: () => bigint): () => bigint {
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
  { metrics, log, version }: { metrics: GatewayMetrics; log: Log; version: string },
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
function largeRequestWorkers(): Pick<ExchangeDeps, "readLarge" | "translateLarge"> {
  const offLoop = new TaskWorker({ module: new URL("./worker.ts", import.meta.url) })
  const run = async <Task, Result>(task: Task, transfer: ArrayBuffer[] = []): Promise<Result> => {
    const result = await offLoop.run<Task, WorkerResult<Result>>(task, transfer)
    if ("result" in result) return result.result
    throw new GatewayError(result.code, result.message, result.details)
  }
  return {
    readLarge: (bytes, spoken) => run<ReadRequestTask, RequestSummary>({ ...spoken, bytes }, [bytes.buffer]),
    translateLarge: (text, translate) => run<LargeTranslateTask, TranslatedRequest | WantedMedia>({ text, translate }),
  }
}
