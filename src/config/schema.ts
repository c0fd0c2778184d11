// What trivium.yaml may say, as a declaration. A member added here is read, checked and suggested by itself.
import type { ModelSettings, ProviderSettings } from "./config.ts"
import type { Place } from "./document.ts"
import { modelSchema } from "./model-schema.ts"
import { quoted } from "./nearest.ts"
import { dictionary, integer, list, object, oneOf, optional, otherwise, type Shape, text, Wrong } from "./shape.ts"
import { baseUrl, credential, host, providerId, sqlitePath } from "./values.ts"

export interface FileSettings {
  readonly server: { readonly host?: string; readonly port?: number }
  readonly store: { readonly url?: string }
  readonly providers: ReadonlyMap<string, FileProvider>
  readonly models: readonly ModelSettings[]
}

/** An entry under `providers`; its type is the entry's own name when left out. */
export type FileProvider = Omit<ProviderSettings, "id" | "type"> & { readonly type?: string }

export interface SchemaContext {
  readonly workingDir: string
  /** The providers the gateway knows by itself, most of them with their address. */
  readonly knownProviders: readonly { readonly id: string; readonly baseUrl?: string }[]
  /** Ids of the bundled models. */
  readonly knownModels: readonly string[]
}

/** Kinds of host, of which each installation has its own. */
const COMPATIBLE = ["openai-compatible", "anthropic-compatible", "gemini-compatible"]

/** The schema for one reading of one file: it remembers the names that file has used. */
export function fileSchema(root: Place, context: SchemaContext): Shape<FileSettings> {
  const { workingDir, knownProviders, knownModels } = context
  const known = knownProviders.map(({ id }) => id)
  const providers = [...new Set([...namesUnder(root, "providers"), ...known])]
  const addressed = new Set(knownProviders.flatMap(({ id, baseUrl: at }) => (at === undefined ? [] : [id])))
  const server = object({
    host: optional(text(host)),
    port: optional(integer({ min: 0, max: 65535 })),
  })
  const store = object({
    url: optional(text(sqlitePath(workingDir))),
  })
  return object({
    server: otherwise(server, {}),
    store: otherwise(store, {}),
    providers: otherwise(dictionary(providerId, providerSchema([...known, ...COMPATIBLE], addressed)), new Map()),
    models: otherwise(list(modelSchema({ providers, knownModels })), []),
  })
}

function providerSchema(
  types: readonly string[],
  addressed: ReadonlySet<string>,
): (name: string) => Shape<FileProvider> {
  const type = oneOf("provider type", types)
  return (name) =>
    object(
      {
        type: optional(text(type)),
        api_key: optional(text(credential)),
        base_url: optional(text(baseUrl)),
      },
      (sound, place) => {
        const ownName = place.has("type") ? undefined : type(name)
        if (ownName instanceof Wrong) place.reportName(ownName.message)
        const kind = sound.type ?? name
        const needsAddress = types.includes(kind) && !addressed.has(kind) && !place.has("base_url")
        if (needsAddress) place.reportName(`the type ${quoted(kind)} needs a "base_url"`)
      },
    )
}

function namesUnder(root: Place, name: string): string[] {
  const content = root.content()
  const member = content.kind === "mapping" ? content.members.get(name)?.content() : undefined
  return member?.kind === "mapping" ? [...member.members.keys()] : []
}
