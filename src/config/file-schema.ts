// The schema of trivium.yaml, as a declaration. A member added here is read, checked and suggested automatically.
import type { DefaultSettings, GroupSettings, ModelSettings, UpstreamSettings } from "./config.ts"
import type { ConfigNode } from "./config-document.ts"
import {
  boolean,
  type ConfigShape,
  choice,
  dictionary,
  integer,
  list,
  object,
  optional,
  text,
  withDefault,
} from "./config-shape.ts"
import type { CredentialFileContext } from "./credential-file.ts"
import { groupSchema, strategy } from "./group-schema.ts"
import { modelSchema } from "./model-schema.ts"
import { addressRange, corsOrigin, host, modelId, providerId, sqlitePath } from "./parse-values.ts"
import type { FileProvider } from "./provider-schema.ts"
import { type FileTelemetry, telemetrySchema } from "./telemetry-schema.ts"

export interface FileSettings {
  readonly server: {
    readonly host?: string
    readonly port?: number
    readonly cors: readonly string[]
    readonly trustedProxies: readonly string[]
    readonly maxInFlight: number
    readonly idleTimeout: number
    readonly maxConnections: number
  }
  readonly admin: { readonly host?: string; readonly port?: number }
  readonly store: { readonly url?: string }
  readonly ledger: { readonly suspenseHours: number }
  readonly providers: ReadonlyMap<string, FileProvider>
  readonly models: readonly ModelSettings[]
  readonly groups: readonly GroupSettings[]
  readonly defaults: DefaultSettings
  readonly upstream: UpstreamSettings
  readonly media: { readonly fetch: boolean }
  readonly telemetry?: FileTelemetry
}

export interface SchemaContext extends CredentialFileContext {
  /** Reads an entry under `providers`. */
  readonly provider: (name: string) => ConfigShape<FileProvider>
  /** Ids of the built-in providers. */
  readonly knownProviders: readonly string[]
  /** Ids of the bundled models. */
  readonly knownModels: readonly string[]
}

const DEFAULT_MAX_IN_FLIGHT = 2000
/** Longer than load balancers keep idle connections, most of them for 60 s. */
const DEFAULT_IDLE_TIMEOUT = 75
const DEFAULT_MAX_CONNECTIONS = 10_000
const DEFAULT_SERVER = {
  cors: [],
  trustedProxies: [],
  maxInFlight: DEFAULT_MAX_IN_FLIGHT,
  idleTimeout: DEFAULT_IDLE_TIMEOUT,
  maxConnections: DEFAULT_MAX_CONNECTIONS,
}
const DEFAULT_REQUESTS_PER_MINUTE = 600
const DEFAULT_SUSPENSE_HOURS = 24
const MOST_SUSPENSE_HOURS = 720

/** The schema for one reading of one file: it tracks the names that the file has used. */
export function fileSchema(root: ConfigNode, context: SchemaContext): ConfigShape<FileSettings> {
  const { workingDir, provider, knownProviders, knownModels } = context
  const providers = [...new Set([...namesUnder(root, "providers"), ...knownProviders])]
  const models = [...new Set([...idsUnder(root, "models"), ...knownModels])]
  const taken = new Map<string, string>()
  const address = { host: optional(text(host)), port: optional(integer({ min: 0, max: 65535 })) }
  const server = object({
    ...address,
    cors: withDefault(list(text(corsOrigin)), []),
    trusted_proxies: withDefault(list(text(addressRange)), []),
    max_in_flight: withDefault(integer({ min: 1, max: 20_000 }), DEFAULT_MAX_IN_FLIGHT),
    idle_timeout: withDefault(integer({ min: 1, max: 3600 }), DEFAULT_IDLE_TIMEOUT),
    max_connections: withDefault(integer({ min: 1, max: 1_000_000 }), DEFAULT_MAX_CONNECTIONS),
  })
  const defaults = object({
    requests_per_minute: withDefault(perMinute, DEFAULT_REQUESTS_PER_MINUTE),
    routing: optional(strategy),
    image_model: optional(text(modelId)),
  })
  const upstream = object({
    isolation: withDefault(choice("shared", "strict"), "shared"),
  })
  const store = object({
    url: optional(text(sqlitePath(workingDir))),
  })
  const suspenseHours = integer({ min: 0, max: MOST_SUSPENSE_HOURS })
  const ledger = object({ suspense_hours: withDefault(suspenseHours, DEFAULT_SUSPENSE_HOURS) })
  return object({
    server: withDefault(server, DEFAULT_SERVER),
    admin: withDefault(object(address), {}),
    store: withDefault(store, {}),
    ledger: withDefault(ledger, { suspenseHours: DEFAULT_SUSPENSE_HOURS }),
    providers: withDefault(dictionary(providerId, provider), new Map()),
    models: withDefault(list(modelSchema({ providers, knownModels, taken })), []),
    groups: withDefault(list(groupSchema({ models, knownModels, taken })), []),
    defaults: withDefault(defaults, { requestsPerMinute: DEFAULT_REQUESTS_PER_MINUTE }),
    upstream: withDefault(upstream, { isolation: "shared" }),
    media: withDefault(object({ fetch: withDefault(boolean(), false) }), { fetch: false }),
    telemetry: optional(telemetrySchema(context)),
  })
}

/** A number, or `none`. */
const requestCount = integer({ min: 1 })
const perMinute: ConfigShape<number | null> = {
  jsonSchema: { anyOf: [{ const: "none" }, requestCount.jsonSchema] },
  read(node) {
    const content = node.content()
    if (content.kind === "text" && content.text === "none") return null
    return requestCount.read(node)
  },
}

/** The ids of the entries of a list, valid or not. */
function idsUnder(root: ConfigNode, name: string): string[] {
  const content = root.content()
  const member = content.kind === "mapping" ? content.members.get(name)?.content() : undefined
  if (member?.kind !== "list") return []
  return member.items.flatMap((item) => {
    const entry = item.content()
    const id = entry.kind === "mapping" ? entry.members.get("id")?.content() : undefined
    return id?.kind === "text" ? [id.text] : []
  })
}

function namesUnder(root: ConfigNode, name: string): string[] {
  const content = root.content()
  const member = content.kind === "mapping" ? content.members.get(name)?.content() : undefined
  return member?.kind === "mapping" ? [...member.members.keys()] : []
}
