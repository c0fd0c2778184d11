// The command line's entry: joins the commands to the composition root, and watches over the process.
import { closeSync, writeSync } from "node:fs"
import { version } from "../package.json"
import { findAdminKey } from "./access/secrets/admin-key.ts"
import { modelStates } from "./administration.ts"
import { bundledModels } from "./catalog/bundled-models.ts"
import { AdminClient } from "./cli/admin-client.ts"
import { type CheckReport, checkAccounts, describeReport } from "./cli/check-accounts.ts"
import type { AdminFlags, ConfigFlags } from "./cli/command-flags.ts"
import type { FindGateway } from "./cli/commands/explain.ts"
import type { ListedModel } from "./cli/commands/models.ts"
import type { SimulateFlags } from "./cli/commands/simulate.ts"
import { removeGatewayFile, runningAdminUrl, runningUrl, writeGatewayFile } from "./cli/gateway-file.ts"
import { print, printError } from "./cli/print.ts"
import { buildProgram, type CheckFlags } from "./cli/program.ts"
import { type OpenAdmin, remoteAdmin } from "./cli/remote-admin.ts"
import { welcomeMessage } from "./cli/welcome-message.ts"
import type { GatewayConfig } from "./config/config.ts"
import { ConfigError } from "./config/config-error.ts"
import { configJsonSchema } from "./config/config-json-schema.ts"
import { type ConfigSources, configFile, loadConfig } from "./config/load-config.ts"
import { watchConfig } from "./config/watch.ts"
import { CredentialWatch } from "./config/watch-credentials.ts"
import { stackOf } from "./exchange/record/exchange-record.ts"
import { Gateway } from "./gateway.ts"
import { buildTable, type GatewayTableOptions, knownProviders } from "./gateway-table.ts"
import { openAdminService } from "./open-store.ts"
import { SimulatorServer } from "./simulator/server.ts"
import { ChargeLog } from "./simulator/simulated-charge.ts"
import { Log } from "./telemetry/log.ts"

/** How long a stopping gateway stays visible to a load balancer, and how long it lets streams finish. */
const GRACE_MS = 5000
const DRAIN_MS = 20_000
/** A terminal's Ctrl-C reaches us directly and once more through the launcher; that is one signal, not two. */
const SAME_SIGNAL_MS = 1000
const LAUNCHER_POLL_MS = 500
/** The code after a fault that nothing caught. 1 is for what cannot start, and for a second signal. */
const CRASHED = 70

const { env } = process
// What the gateway writes is its owner's alone to read.
process.umask(0o077)

function sources(flags: ConfigFlags): ConfigSources {
  const knownModels = bundledModels().map(({ id }) => id)
  return { flags, environment: env, workingDir: process.cwd(), knownProviders, knownModels }
}

async function serve(flags: ConfigFlags): Promise<void> {
  const log = new Log({ write: (text) => process.stderr.write(text) })
  logFaults(log)
  const given = sources(flags)
  let gateway: Gateway | undefined
  const { path } = configFile(given)
  let latest: string | undefined
  const renew = () => {
    const config = gateway && reload(gateway, { ...given, text: latest }, log)
    if (config) credentials.follow(config.credentialFiles)
  }
  const reject = (config_file: string, code: string) =>
    log.line("error", "config-rejected", { config_file, reason: unreadableReason(code) })
  const credentials = new CredentialWatch({ onChange: renew, onUnreadable: reject })
  const watched = watchConfig(path, {
    onChange: (text) => {
      latest = text
      renew()
    },
    onUnreadable: (code) => reject(path, code),
  })
  const config = loadConfig(given)
  const readConfig = (text?: string) => loadConfig({ ...given, text })
  const { acceptLoss } = flags
  gateway = new Gateway({ config, environment: env, log, version, readConfig, configFile: path, acceptLoss })
  credentials.follow(config.credentialFiles)
  writeGatewayFile(config.dataDir, gateway)
  const stopping = waitForStop()
  const firstKey = await gateway.firstKey()
  const { url, adminUrl, isDemo, modelCount, exampleModel, undiscovered } = gateway
  print(welcomeMessage({ url, adminUrl, isDemo, modelCount, exampleModel, firstKey, undiscovered }))
  notifyLauncher()
  const cause = await stopping
  watched.stop()
  credentials.stop()
  removeGatewayFile(config.dataDir)
  await gateway.stop({ graceMs: cause === "SIGTERM" ? GRACE_MS : 0, drainMs: DRAIN_MS })
  process.exit(0)
}

function unreadableReason(code: string): string {
  return `the file cannot be read (${code}); the previous configuration stays in force`
}

/** The configuration that is in force now; undefined where it stays the one before. */
function reload(gateway: Gateway, given: ConfigSources, log: Log): GatewayConfig | undefined {
  const config_file = configFile(given).path
  try {
    const config = loadConfig(given)
    gateway.reload(config)
    log.line("info", "config-reloaded", { config_file })
    return config
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    log.line("error", "config-rejected", { config_file, reason })
    return undefined
  }
}

/** From now on the launcher starts the gateway again should it crash. */
function notifyLauncher(): void {
  const pipe = Number(env.TRIVIUM_SERVING_FD)
  if (!pipe) return
  try {
    writeSync(pipe, "serving\n")
    closeSync(pipe)
  } catch {
    // No launcher listens there: the variable was inherited.
  }
}

/** An unhandled rejection is an internal error, but must not end the other exchanges. */
function logFaults(log: Log): void {
  process.on("unhandledRejection", (cause) => log.line("error", "unhandled-rejection", { stack: stackOf(cause) }))
  process.on("uncaughtException", (cause) => {
    log.line("error", "uncaught-exception", { stack: stackOf(cause) })
    log.flush()
    process.exit(CRASHED)
  })
}

/** Resolves with the first signal, or when the launcher is gone; a second signal ends the process at once. */
function waitForStop(): Promise<string> {
  return new Promise((resolve) => {
    let first: number | undefined
    const stop = (cause: string) => {
      const now = performance.now()
      first ??= now
      if (now - first > SAME_SIGNAL_MS) process.exit(1)
      resolve(cause)
    }
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => stop(signal))
    const launcher = Number(env.TRIVIUM_LAUNCHER_PID)
    if (!launcher) return
    setInterval(() => {
      if (process.ppid !== launcher && first === undefined) stop("launcher-gone")
    }, LAUNCHER_POLL_MS)
  })
}

const refuseToSend = () => Promise.reject(new Error("this command sends no requests to models"))

async function check({ json, ...flags }: CheckFlags): Promise<void> {
  try {
    const report = await checkReport(flags)
    print(json ? JSON.stringify(report) : describeReport(report))
    if (!report.sound) process.exitCode = 1
  } catch (thrown) {
    if (!json || !(thrown instanceof ConfigError)) throw thrown
    print(JSON.stringify({ valid: false, problems: thrown.problems }))
    process.exitCode = 1
  }
}

async function checkReport({ url, ...flags }: AdminFlags): Promise<CheckReport> {
  const client = url === undefined ? undefined : adminClient({ url, ...flags })
  if (client) return (await client.post("/check")) as unknown as CheckReport
  const config = loadConfig(sources(flags))
  const tableWith = (offeredAt: GatewayTableOptions["offeredAt"]) =>
    buildTable(config, { send: refuseToSend, offeredAt })
  return checkAccounts(tableWith(undefined), { config, tableWith })
}

/** The administration to go through: that of the gateway named, or of the one that runs on the data folder. */
function adminClient({ url, ...flags }: AdminFlags): AdminClient | undefined {
  const { dataDir } = loadConfig(sources(flags))
  const address = url?.replace(/\/+$/, "") ?? runningAdminUrl(dataDir)
  if (address === undefined) return undefined
  const key = findAdminKey(dataDir, env)
  if (key) return new AdminClient(address, key)
  throw new Error(`Set TRIVIUM_ADMIN_KEY to the administration key of the gateway at ${address}.`)
}

const openAdmin: OpenAdmin = (flags) => {
  const client = adminClient(flags)
  if (client) return { adminService: remoteAdmin(client), close: () => {} }
  const given = sources(flags)
  const readConfig = (text?: string) => loadConfig({ ...given, text })
  const opening = { readConfig, configFile: configFile(given).path }
  return openAdminService(readConfig(), env, { ...opening, ...(flags.acceptLoss && { onLoss: printError }) })
}

async function listModels(flags: AdminFlags): Promise<readonly ListedModel[]> {
  const client = adminClient(flags)
  if (client) return ((await client.get("/models")) as unknown as { models: ListedModel[] }).models
  return modelStates(buildTable(loadConfig(sources(flags)), { send: refuseToSend }))
}

const configSchema = () => configJsonSchema(knownProviders)

const findGateway: FindGateway = (flags) => runningUrl(loadConfig(sources(flags)).dataDir)

async function simulate(flags: SimulateFlags): Promise<void> {
  const { host, port, firstTokenMs, tokensPerSecond, jitter: jitterPercent, bill: file } = flags
  const speed = { firstTokenMs, tokensPerSecond, jitterPercent }
  const { add: onBill } = new ChargeLog({ file })
  const stopping = waitForStop()
  const server = await SimulatorServer.start({ host, port, simulator: { speed, seed: flags.seed, onCharge: onBill } })
  print(`listening on ${server.url}`)
  await stopping
  await server.stop()
  process.exit(0)
}

try {
  const actions = { serve, check, configSchema, openAdmin, listModels, findGateway, simulate }
  await buildProgram(actions, version).parseAsync()
} catch (thrown) {
  printError(thrown instanceof Error ? thrown.message : String(thrown))
  process.exit(1)
}
