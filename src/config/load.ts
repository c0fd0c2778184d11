// Flags, environment and file become one configuration: flags win over the environment, it over the file, it over the
// defaults. Either all of it is right, or a ConfigError says everything that is wrong.
import { readFileSync } from "node:fs"
import { isAbsolute, join, relative, resolve } from "node:path"
import type { Config, ProviderSettings } from "./config.ts"
import { ConfigError, type Problem } from "./config-error.ts"
import { openDocument } from "./document.ts"
import { type FileProvider, type FileSettings, fileSchema } from "./schema.ts"
import { invalid, type Parser, Wrong } from "./shape.ts"
import { credential, host, port } from "./values.ts"

export interface ConfigSources {
  readonly flags: {
    readonly host?: string | undefined
    readonly port?: string | number | undefined
    readonly config?: string | undefined
    readonly data?: string | undefined
  }
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Where relative paths start and where `trivium.yaml` is looked for. */
  readonly workingDir: string
  readonly knownProviders: readonly KnownProvider[]
  /** Ids of the bundled models, of which the file may change single members. */
  readonly knownModels?: readonly string[]
}

/** A provider the gateway knows by itself, and the variable its credential is usually found in. */
interface KnownProvider {
  readonly id: string
  readonly environmentVariable?: string
  readonly baseUrl?: string
}

export interface ConfigFile {
  /** Absolute. Nothing need be there unless somebody named it. */
  readonly path: string
  /** Who named it; absent for the default `trivium.yaml`, which may be missing. */
  readonly namedBy?: "--config" | "TRIVIUM_CONFIG"
}

/** The file that `loadConfig` reads, and that a watcher should watch, also while it does not exist. */
export function configFile({ flags, environment, workingDir }: Omit<ConfigSources, "knownProviders">): ConfigFile {
  if (flags.config) return { path: resolve(workingDir, flags.config), namedBy: "--config" }
  const named = environment.TRIVIUM_CONFIG
  if (named) return { path: resolve(workingDir, named), namedBy: "TRIVIUM_CONFIG" }
  return { path: resolve(workingDir, "trivium.yaml") }
}

/** Reads everything anew. The result is deeply frozen; throws ConfigError and nothing else. */
export function loadConfig(sources: ConfigSources): Config {
  const { environment, knownModels = [], knownProviders, workingDir } = sources
  const problems: Problem[] = []
  const file = configFile(sources)
  const root = openDocument(readText(file, problems), { environment, problems })
  const schema = fileSchema(root, { workingDir, knownProviders, knownModels })
  const settings = schema.read(root)
  const overrides = readOverrides(sources, problems)
  const found = readCredentials(sources, problems)
  if (problems.length > 0 || settings === invalid) throw new ConfigError(problems, printedName(file.path, workingDir))
  const dataDir = resolve(workingDir, sources.flags.data || environment.TRIVIUM_DATA || "data")
  return deepFreeze<Config>({
    server: {
      host: overrides.host ?? settings.server.host ?? "127.0.0.1",
      port: overrides.port ?? settings.server.port ?? 8080,
    },
    dataDir,
    storePath: settings.store.url ?? join(dataDir, "trivium.db"),
    providers: joinProviders(settings, found),
    models: settings.models,
  })
}

function readText({ path, namedBy }: ConfigFile, problems: Problem[]): string {
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

/** An empty variable counts as unset: that is how a shell or a compose file takes one away. */
function readOverrides({ flags, environment }: ConfigSources, problems: Problem[]) {
  const pick = <T>(flag: string, variable: string, given: { flag: string | undefined; parse: Parser<T> }) => {
    const text = given.flag ?? (environment[variable] || undefined)
    if (text === undefined) return undefined
    const value = given.parse(text)
    if (!(value instanceof Wrong)) return value
    problems.push({ path: given.flag === undefined ? variable : flag, message: value.message })
    return undefined
  }
  return {
    host: pick("--host", "HOST", { flag: flags.host, parse: host }),
    port: pick("--port", "PORT", { flag: flags.port?.toString(), parse: port }),
  }
}

/** The credentials the environment holds under their well-known names, by provider. */
function readCredentials({ knownProviders, environment }: ConfigSources, problems: Problem[]) {
  const found: ProviderSettings[] = []
  for (const { id, environmentVariable, baseUrl } of knownProviders) {
    // Without an address of its own there is nowhere to take the credential to.
    if (baseUrl === undefined) continue
    if (environmentVariable === undefined || !environment[environmentVariable]?.trim()) continue
    const apiKey = credential(environment[environmentVariable])
    if (apiKey instanceof Wrong) problems.push({ path: environmentVariable, message: apiKey.message })
    else found.push({ id, type: id, apiKey })
  }
  return found
}

/** The file's providers, then those that only the environment names. */
function joinProviders(settings: FileSettings, found: readonly ProviderSettings[]): ProviderSettings[] {
  const named = [...settings.providers].map(([id, entry]) => ({
    ...entry,
    ...credentialFor(id, entry),
    id,
    type: entry.type ?? id,
  }))
  return [...named, ...found.filter(({ id }) => !settings.providers.has(id))]

  /** An entry without credential takes the well-known one, but never to an address that is not the vendor's. */
  function credentialFor(id: string, { apiKey, baseUrl, type = id }: FileProvider): Pick<ProviderSettings, "apiKey"> {
    const wellKnown = found.find((provider) => provider.id === type)?.apiKey
    return apiKey || baseUrl !== undefined || !wellKnown ? {} : { apiKey: wellKnown }
  }
}

/** Short where the file is below the working directory. */
function printedName(path: string, workingDir: string): string {
  const short = relative(workingDir, path)
  return short === "" || short.startsWith("..") || isAbsolute(short) ? path : short
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
