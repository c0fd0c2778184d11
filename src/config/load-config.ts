// Loads the configuration: flags override the environment, which overrides the file, which overrides the defaults. If
// anything is wrong, a ConfigError lists every problem.
import { readFileSync } from "node:fs"
import { isAbsolute, join, relative, resolve } from "node:path"
import type { GatewayConfig, ProviderSettings } from "./config.ts"
import { openDocument } from "./config-document.ts"
import { ConfigError, type ConfigFileProblem } from "./config-error.ts"
import { INVALID, ParseProblem, type TextParser } from "./config-shape.ts"
import type { CredentialFile } from "./credential-file.ts"
import { type FileSettings, fileSchema } from "./file-schema.ts"
import { host, port } from "./parse-values.ts"
import { createProviderReader, type KnownProvider } from "./provider-schema.ts"
import { readTraces } from "./telemetry-schema.ts"

export interface ConfigSources {
  readonly flags: {
    readonly host?: string | undefined
    readonly port?: string | number | undefined
    readonly adminPort?: string | undefined
    readonly config?: string | undefined
    readonly data?: string | undefined
  }
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Read instead of the file. */
  readonly text?: string | undefined
  /** The base of relative paths, and the folder of `trivium.yaml`. */
  readonly workingDir: string
  readonly knownProviders: readonly KnownProvider[]
  /** Ids of the bundled models, of which the file may change single members. */
  readonly knownModels?: readonly string[]
}

export interface ConfigFile {
  /** Absolute. The file may be missing unless a flag or variable names it. */
  readonly path: string
  /** The flag or variable that names it; absent for the default `trivium.yaml`, which may be missing. */
  readonly namedBy?: "--config" | "TRIVIUM_CONFIG"
}

/** The file that `loadConfig` reads and a watcher should watch, even if it does not exist. */
export function configFile({ flags, environment, workingDir }: Omit<ConfigSources, "knownProviders">): ConfigFile {
  if (flags.config) return { path: resolve(workingDir, flags.config), namedBy: "--config" }
  const named = environment.TRIVIUM_CONFIG
  if (named) return { path: resolve(workingDir, named), namedBy: "TRIVIUM_CONFIG" }
  return { path: resolve(workingDir, "trivium.yaml") }
}

/** Reads everything again. The result is deeply frozen; throws only ConfigError. */
export function loadConfig(sources: ConfigSources): GatewayConfig {
  const { environment, knownModels = [], knownProviders, workingDir } = sources
  const problems: ConfigFileProblem[] = []
  const files: CredentialFile[] = []
  const file = configFile(sources)
  const root = openDocument(sources.text ?? readText(file, problems), { environment, problems })
  const provider = createProviderReader({ knownProviders, environment, workingDir, files, problems })
  const ids = knownProviders.map(({ id }) => id)
  const schema = fileSchema(root, { workingDir, files, provider: provider.entry, knownProviders: ids, knownModels })
  const settings = schema.read(root)
  const overrides = readOverrides(sources, problems)
  const found = settings === INVALID ? [] : provider.fromEnvironment(settings.providers)
  const fileTelemetry = settings === INVALID ? undefined : settings.telemetry
  const traces = readTraces(fileTelemetry, { environment, problems })
  if (problems.length > 0 || settings === INVALID) throw new ConfigError(problems, displayPath(file.path, workingDir))
  const dataDir = resolve(workingDir, sources.flags.data || environment.TRIVIUM_DATA || "data")
  return deepFreeze<GatewayConfig>({
    server: {
      ...settings.server,
      host: overrides.host ?? settings.server.host ?? "127.0.0.1",
      port: overrides.port ?? settings.server.port ?? 8080,
    },
    admin: { host: settings.admin.host ?? "127.0.0.1", ports: adminPorts(overrides.adminPort ?? settings.admin.port) },
    dataDir,
    storePath: settings.store.url ?? join(dataDir, "trivium.db"),
    ledger: settings.ledger,
    providers: [...toProviderList(settings), ...found],
    models: settings.models,
    groups: settings.groups,
    defaults: settings.defaults,
    upstream: settings.upstream,
    media: settings.media,
    ...(traces && { traces }),
    credentialFiles: uniqueByPath(files),
  })
}

/** A second gateway on one machine finds the default port taken; an explicit port has no alternatives. */
function adminPorts(named: number | undefined): readonly number[] {
  return named === undefined ? [8081, 0] : [named]
}

function readText({ path, namedBy }: ConfigFile, problems: ConfigFileProblem[]): string {
  try {
    return readFileSync(path, "utf8")
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error"
    const missing = code === "ENOENT" || code === "ENOTDIR"
    if (missing && namedBy === undefined) return ""
    const message = missing ? `there is no file ${path}` : `the file ${path} cannot be read (${code})`
    problems.push({ path: namedBy ?? "trivium.yaml", message })
    return ""
  }
}

/** An empty variable counts as unset: that is how a shell or a compose file removes one. */
function readOverrides({ flags, environment }: ConfigSources, problems: ConfigFileProblem[]) {
  const pick = <T>(flag: string, variable: string, given: { flag: string | undefined; parse: TextParser<T> }) => {
    const text = given.flag ?? (environment[variable] || undefined)
    if (text === undefined) return undefined
    const value = given.parse(text)
    if (!(value instanceof ParseProblem)) return value
    problems.push({ path: given.flag === undefined ? variable : flag, message: value.message })
    return undefined
  }
  return {
    host: pick("--host", "HOST", { flag: flags.host, parse: host }),
    port: pick("--port", "PORT", { flag: flags.port?.toString(), parse: port }),
    adminPort: pick("--admin-port", "ADMIN_PORT", { flag: flags.adminPort, parse: port }),
  }
}

function uniqueByPath(files: readonly CredentialFile[]): CredentialFile[] {
  return [...new Map(files.map((file) => [file.path, file])).values()]
}

/** An entry's type is its own name when left out. */
function toProviderList({ providers }: FileSettings): ProviderSettings[] {
  return [...providers].map(([id, entry]) => ({ ...entry, id, type: entry.type ?? id }))
}

/** A relative path if the file is below the working directory. */
function displayPath(path: string, workingDir: string): string {
  const short = relative(workingDir, path)
  return short === "" || short.startsWith("..") || isAbsolute(short) ? path : short
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
