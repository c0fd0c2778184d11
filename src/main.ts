// The command line's entry: joins the commands to the composition root, and watches over the process.
import { version } from "../package.json"
import { buildTable, Gateway, knownProviders, openKeys } from "./app.ts"
import { bundledModels } from "./catalog/bundled.ts"
import { checkAccounts } from "./cli/check.ts"
import type { ConfigFlags } from "./cli/flags.ts"
import { complain, print } from "./cli/print.ts"
import { program } from "./cli/program.ts"
import { welcome } from "./cli/welcome.ts"
import { type ConfigSources, configFile, loadConfig } from "./config/load.ts"
import { watchConfig } from "./config/watch.ts"
import { stackOf } from "./exchange/record.ts"
import { Log } from "./telemetry/log.ts"

/** How long a gateway that was told to stop stays in the load balancer's eyes, and how long it lets streams end. */
const GRACE_MS = 5000
const DRAIN_MS = 20_000
/** A terminal's Ctrl-C reaches us directly and once more through the launcher; that is one signal, not two. */
const SAME_SIGNAL_MS = 1000
const LAUNCHER_POLL_MS = 500

const { env } = process

function sources(flags: ConfigFlags): ConfigSources {
  const knownModels = bundledModels().map(({ id }) => id)
  return { flags, environment: env, workingDir: process.cwd(), knownProviders, knownModels }
}

async function serve(flags: ConfigFlags): Promise<void> {
  const log = new Log({ write: (text) => process.stderr.write(text) })
  logFaults(log)
  const given = sources(flags)
  let gateway: Gateway | undefined
  const watched = watchConfig(configFile(given).path, { onChange: () => gateway && reload(gateway, given, log) })
  const config = loadConfig(given)
  gateway = new Gateway({ config, environment: env, log })
  const firstKey = gateway.keys.isEmpty() ? gateway.keys.create({ name: "first" }).text : undefined
  const stopping = toldToStop()
  const { url, isDemo, modelCount, exampleModel } = gateway
  print(welcome({ url, isDemo, modelCount, exampleModel, firstKey }))
  const cause = await stopping
  watched.stop()
  await gateway.stop({ graceMs: cause === "SIGTERM" ? GRACE_MS : 0, drainMs: DRAIN_MS })
  process.exit(0)
}

function reload(gateway: Gateway, given: ConfigSources, log: Log): void {
  const config_file = configFile(given).path
  try {
    gateway.reload(loadConfig(given))
    log.line("info", "config-reloaded", { config_file })
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    log.line("error", "config-rejected", { config_file, reason })
  }
}

/** A rejection nobody awaited is a fault of ours, but none that the other exchanges should die of. */
function logFaults(log: Log): void {
  process.on("unhandledRejection", (cause) => log.line("error", "unhandled-rejection", { stack: stackOf(cause) }))
  process.on("uncaughtException", (cause) => {
    log.line("error", "uncaught-exception", { stack: stackOf(cause) })
    log.flush()
    process.exit(1)
  })
}

/** Resolves with the first signal, or when the launcher is gone; a second signal ends the process at once. */
function toldToStop(): Promise<string> {
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

async function check(flags: ConfigFlags): Promise<void> {
  const config = loadConfig(sources(flags))
  const table = buildTable(config, () => Promise.reject(new Error("check sends no requests to models")))
  const { text, sound } = await checkAccounts(table, config)
  print(text)
  if (!sound) process.exitCode = 1
}

try {
  const actions = { serve, check, openKeys: (flags: ConfigFlags) => openKeys(loadConfig(sources(flags)), env) }
  await program(actions, version).parseAsync()
} catch (thrown) {
  complain(thrown instanceof Error ? thrown.message : String(thrown))
  process.exit(1)
}
