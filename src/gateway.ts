// The gateway: joins every module and runs them; the composition root.
import { setTimeout } from "node:timers/promises"
import type { Caller } from "./access/caller.ts"
import { KeyRegistry } from "./access/key-registry.ts"
import { RateLimiter } from "./access/limits/rate-limiter.ts"
import { IdentifierSalt } from "./access/secrets/identifier-salt.ts"
import { Sealer } from "./access/secrets/sealer.ts"
import { StoredCredentials } from "./access/secrets/stored-credentials.ts"
import type { GatewayView } from "./admin/gateway-view.ts"
import { AdminService } from "./admin/services/admin-service.ts"
import { modelStates, openAdministration, ProviderCredentials, problemsOf } from "./administration.ts"
import { GatewayError } from "./canonical/gateway-error.ts"
import { checkAccounts } from "./cli/check-accounts.ts"
import type { GatewayConfig } from "./config/config.ts"
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
import { inlineMedia } from "./exchange/inline-media.ts"
import {
  type ExchangeRecord,
  recordFields,
  recordLevel,
  stackOf,
  toTracedExchange,
} from "./exchange/record/exchange-record.ts"
import { gatewayRoutes } from "./gateway-routes.ts"
import { buildTable, type GatewayTable, providerTypes } from "./gateway-table.ts"
import { GatewayServer } from "./http/gateway-server.ts"
import type { PlainServer } from "./http/plain-server.ts"
import { largeRequestWorkers } from "./large-request-workers.ts"
import type { Ledger } from "./ledger/ledger.ts"
import { CONFIG_FILE, openLedger, openStore, type ProcessEnvironment } from "./open-store.ts"
import { openTracer } from "./open-tracer.ts"
import { openaiChat } from "./protocols/chat/openai-chat/openai-chat.ts"
import { conversation } from "./protocols/chat/openai-responses/conversation/stored-conversation.ts"
import { codecs } from "./protocols.ts"
import { ProviderService } from "./provider-service.ts"
import type { ProviderAccount } from "./providers/contract.ts"
import type { ModelDiscovery } from "./providers/discovery.ts"
import { Affinity } from "./routing/affinity.ts"
import { HealthMonitor } from "./routing/health-monitor.ts"
import { RotationCounter } from "./routing/rotation-counter.ts"
import type { Store } from "./store/contract.ts"
import { GatewayMetrics } from "./telemetry/gateway-metrics.ts"
import type { Log } from "./telemetry/log.ts"
import { EXPOSITION_TYPE } from "./telemetry/metric-registry.ts"
import type { Tracer } from "./telemetry/tracer.ts"
import { DeadlineTimer } from "./transport/deadline-timer.ts"
import { SerialQueue } from "./transport/event-loop/serial-queue.ts"
import { networkSend, type SendRequest } from "./transport/http-client.ts"
import { fetchMedia } from "./transport/media-fetch.ts"

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
  private isReady = true
  /** What is owed and waits for the store to work again. */
  private readonly pendingWrites = new Set<Promise<void>>()

  constructor(options: GatewayOptions) {
    const { config, environment, log, timeouts, version = "0" } = options
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
    const sealing = {
      seal: (plain: Uint8Array, place: string) => sealer.sealBytes(plain, place),
      open: (sealed: Uint8Array, place: string) => sealer.openBytes(sealed, place),
    }
    const onFault = (cause: unknown) => log.line("error", "observer-failed", { stack: stackOf(cause) })
    const responses = new StoredResponses({ table: this.store.responses, wording: conversation, ...sealing, onFault })
    responses.dropExpired()
    const deps = this.exchangeDeps({
      identifiers: new IdentifierSalt(secret),
      ledger: options.bookWith ? options.bookWith(this.ledger) : this.ledger,
      repeats: new IdempotencyRegistry({ table: this.store.idempotency, ...sealing }),
      responses,
      onFault,
    })
    const freeOf = (caller: Caller) => this.keys.balanceOf(caller)?.freeNano ?? null
    const funds = new FundsCheck({ ledger: this.ledger, freeOf, table: () => this.table })
    this.server = new GatewayServer({
      ...config.server,
      routes: gatewayRoutes({
        ...{ deps, responses, version, keys: this.keys, adminService: this.adminService, ledger: this.ledger },
        isReady: () => this.isReady,
      }),
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
      version,
      inFlight: () => this.server.inFlight,
      bodyBytes: () => this.server.bodies.inUse,
      suspenseNano: cacheLastRead(() => this.ledger.suspense.sumNano),
      debtNano: cacheLastRead(() => -(this.ledger.balance("debt")?.postedNano ?? 0n)),
      onLoopDelay: (delayMs) => this.server.onLoopDelay(delayMs),
    })
    if (config.traces) this.tracer = openTracer(config.traces, { metrics: this.metrics, log, version })
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

  /** The dependencies of exchanges; those given are opened with the store. */
  private exchangeDeps(
    opened: Pick<ExchangeDeps, "identifiers" | "ledger" | "repeats" | "responses" | "onFault">,
  ): ExchangeDeps {
    const now = () => performance.now()
    const chance = () => Math.random()
    const mayFetch = () => this.config.media.fetch
    return {
      ...opened,
      table: () => this.table,
      health: new HealthMonitor({ now, chance, onSetAside: (account, why) => this.logAccountAside(account, why) }),
      affinity: new Affinity({ now }),
      rotation: new RotationCounter(),
      retries: new RetryBudget(now),
      overruns: new LimitOverruns(),
      chance,
      deadlines: this.deadlines,
      timeouts: this.timeouts,
      upstreamCalls: this.upstreamCalls,
      ...largeRequestWorkers(),
      largeRequestQueue: new SerialQueue(),
      codecs,
      sealCache: new SealCache(),
      tokens: new TokenCounter(new URL("./token-worker.ts", import.meta.url)),
      get fetchMedia() {
        return mayFetch() ? (addresses: readonly string[]) => inlineMedia(addresses, fetchMedia) : undefined
      },
      onUnwritten: (writing) => {
        this.pendingWrites.add(writing)
        void writing.finally(() => this.pendingWrites.delete(writing))
      },
    }
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

  /** After a credential was set or removed; without any, no provider can be called. */
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

  /** Waits for running requests up to the limits, then ends them. */
  async stop({ graceMs, drainMs }: { graceMs: number; drainMs: number }): Promise<void> {
    this.isReady = false
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
}

/** The last sum that was read, while the store fails. */
function cacheLastRead(read: () => bigint): () => bigint {
  let last = 0n
  return () => {
    try {
      last = read()
    } catch {
      // The other metrics are still exposed.
    }
    return last
  }
}
