// What trivium.yaml may say, as a declaration. A member added here is read, checked and suggested by itself.
import type { ModelSettings, ProviderSettings, TargetSettings } from "./config.ts"
import type { Place } from "./document.ts"
import { quoted, suggestion } from "./nearest.ts"
import {
  boolean,
  choice,
  dictionary,
  integer,
  list,
  object,
  optional,
  otherwise,
  type Parser,
  required,
  type Shape,
  text,
  Wrong,
} from "./shape.ts"
import { baseUrl, credential, host, line, modelAlias, modelId, providerId, sqlitePath } from "./values.ts"

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
  /** Ids of the providers the gateway knows by itself. */
  readonly knownProviders: readonly string[]
}

const compatible = "openai-compatible"

/** The schema for one reading of one file: it remembers the names that file has used. */
export function fileSchema(root: Place, { workingDir, knownProviders }: SchemaContext): Shape<FileSettings> {
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
    providers: otherwise(dictionary(providerId, providerSchema([...knownProviders, compatible])), new Map()),
    models: otherwise(list(modelSchema([...new Set([...namesUnder(root, "providers"), ...knownProviders])])), []),
  })
}

function providerSchema(types: readonly string[]): (name: string) => Shape<FileProvider> {
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
        const needsAddress = (sound.type ?? name) === compatible && !place.has("base_url")
        if (needsAddress) place.reportName(`the type ${quoted(compatible)} needs a "base_url"`)
      },
    )
}

function modelSchema(providers: readonly string[]): Shape<ModelSettings> {
  const taken = new Map<string, string>()
  const target: Shape<TargetSettings> = object({
    provider: required(text(oneOf("provider", providers))),
    model: required(text(line)),
    priority: otherwise(integer({ min: 0 }), 1),
    weight: otherwise(integer({ min: 1 }), 1),
  })
  return object({
    id: required(unique(text(modelId), taken)),
    aliases: otherwise(list(unique(text(modelAlias), taken)), []),
    kind: otherwise(choice("chat"), "chat"),
    display_name: optional(text(line)),
    context_window: optional(integer({ min: 1 })),
    max_output_tokens: optional(integer({ min: 1 })),
    reasoning: otherwise(boolean(), false),
    targets: required(list(target, { atLeast: 1 })),
  })
}

/** A name out of a list that people may misspell. */
function oneOf(what: string, known: readonly string[]): Parser<string> {
  return (name) => {
    if (known.includes(name)) return name
    return new Wrong(`unknown ${what} ${quoted(name)}; ${suggestion(name, known)}`)
  }
}

/** A name that may appear once among all that share `taken`. */
function unique(shape: Shape<string>, taken: Map<string, string>): Shape<string> {
  return {
    read(place) {
      const name = shape.read(place)
      if (typeof name !== "string") return name
      const earlier = taken.get(name)
      if (earlier !== undefined) place.report(`${quoted(name)} is taken by ${earlier}`)
      else taken.set(name, place.path)
      return name
    },
  }
}

function namesUnder(root: Place, name: string): string[] {
  const content = root.content()
  const member = content.kind === "mapping" ? content.members.get(name)?.content() : undefined
  return member?.kind === "mapping" ? [...member.members.keys()] : []
}
