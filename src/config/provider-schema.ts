// The schema of an entry under `providers`, by its type, and the environment variables that complete it.

import { nearestName, quoteName } from "../canonical/nearest-name.ts"
import { ambientCredentials, takesEnvironment } from "./ambient-credentials.ts"
import { type AccountForm, type AccountMember, LIMIT_MEMBERS, type ProviderSettings } from "./config.ts"
import type { ConfigNode } from "./config-document.ts"
import type { ConfigFileProblem } from "./config-error.ts"
import {
  boolean,
  type ConfigShape,
  choice,
  INVALID,
  list,
  object,
  oneOf,
  optional,
  ParseProblem,
  type TextParser,
  text,
  wordSchema,
} from "./config-shape.ts"
import { type CredentialFileContext, credentialOrFile } from "./credential-file.ts"
import { googleCredentials } from "./google-credentials.ts"
import { apiVersion, baseUrl, entraId, hostAddress, hostLabel, line, secureUrl } from "./parse-values.ts"
import { Secret } from "./secret.ts"

/** An entry; its type is its own name when left out. */
export type FileProvider = Omit<ProviderSettings, "id" | "type"> & { readonly type?: string }

/** A built-in provider. */
export interface KnownProvider {
  readonly id: string
  readonly baseUrl?: string
  /** The usual variable of its key. */
  readonly environmentVariable?: string
  readonly form?: AccountForm
  /** Supported protocols; absent if any is allowed. */
  readonly dialects?: Readonly<Record<string, unknown>>
  /** The usual variable of its address, in the vendor's format. */
  readonly hostVariable?: string
  /** Present if its models can be discovered. */
  readonly discovery?: object
}

interface ProviderReaderOptions extends CredentialFileContext {
  readonly knownProviders: readonly KnownProvider[]
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly problems: ConfigFileProblem[]
}

interface ProviderReader {
  /** The shape of the entry of this name. */
  entry(name: string): ConfigShape<FileProvider>
  /** Providers that no entry names and whose key and address the environment holds. */
  fromEnvironment(entries: ReadonlyMap<string, FileProvider>): ProviderSettings[]
}

/** Kinds of host for which each installation has its own address. */
const COMPATIBLE: readonly KnownProvider[] = [
  { id: "openai-compatible", discovery: {} },
  { id: "anthropic-compatible" },
  { id: "gemini-compatible" },
]

/** Protocols that an entry may list. */
const PROTOCOLS = [
  "openai-chat",
  "openai-responses",
  "openai-completions",
  "openai-embeddings",
  "openai-images",
  "openai-moderations",
  "anthropic-messages",
  "gemini-generate",
  "bedrock-converse",
  ...["gemini-embed", "gemini-embed-one", "vertex-predict", "cohere-embed", "titan-embed", "nova-embed"],
  ...["mistral-embeddings", "voyage-embeddings", "jina-embeddings"],
  ...["gemini-images", "imagen-predict", "xai-images", "together-images", "fireworks-images", "chat-images"],
]

/** A vendor with one public address takes one key or several. */
const KEY_FORM: AccountForm = {
  members: { api_key: {}, api_keys: {} },
  proofs: [{ needs: ["api_key"] }, { needs: ["api_keys"] }],
}

/** Members of every entry, whatever its type. */
const ALWAYS_TAKEN = ["type", "base_url", "protocols", "limit_member", "salt_identifiers"]

const PROPERTIES = {
  base_url: "baseUrl",
  api_key: "apiKey",
  api_keys: "apiKeys",
  resource: "resource",
  api_version: "apiVersion",
  region: "region",
  access_key_id: "accessKeyId",
  secret_access_key: "secretAccessKey",
  session_token: "sessionToken",
  project: "project",
  location: "location",
  credentials_file: "credentialsFile",
  tenant_id: "tenantId",
  client_id: "clientId",
  client_secret: "clientSecret",
  authority_host: "authorityHost",
} as const satisfies Record<AccountMember, keyof FileProvider>

export function createProviderReader(options: ProviderReaderOptions): ProviderReader {
  const { knownProviders } = options
  const types = [...knownProviders, ...COMPATIBLE]
  const typeNames = types.map(({ id }) => id)
  const type = oneOf("provider type", typeNames)
  const parsers = parsersOf(options)
  const protocol = text(oneOf("protocol", PROTOCOLS), wordSchema(PROTOCOLS))
  const protocols = optional(list(protocol, { atLeast: 1 }))
  const shapes = {
    type: optional(text(type, wordSchema(typeNames))),
    protocols,
    limit_member: optional(choice(...LIMIT_MEMBERS)),
    salt_identifiers: optional(boolean()),
    discover: optional(boolean()),
    ...memberShapes(parsers),
  }
  const variables = new ProviderVariables(options, parsers)
  const anyEntry = object(shapes)

  const readEntry = (name: string, node: ConfigNode): FileProvider | typeof INVALID => {
    const ownName = node.has("type") ? undefined : type(name)
    if (ownName instanceof ParseProblem) node.reportName(unknownType(name, node, typeNames) ?? ownName.message)
    const provider = types.find(({ id }) => id === (typeIn(node) ?? name))
    // The members of an unknown type are unknown.
    if (!provider) return anyEntry.read(node)
    const taken = [...ALWAYS_TAKEN, ...Object.keys(formOf(provider).members), provider.discovery ? "discover" : ""]
    const accepted = Object.fromEntries(Object.entries(shapes).filter(([member]) => taken.includes(member)))
    const members = object(accepted as typeof shapes).read(node)
    const completedEntry = completeEntry(members === INVALID ? {} : members, provider, variables)
    const ambient = ambientCredentials(completedEntry, formOf(provider), options.environment)
    const entry = ambient ? { ...completedEntry, ambient } : completedEntry
    for (const message of findFaults(entry, provider, node)) node.reportName(message)
    return members === INVALID ? INVALID : entry
  }

  return {
    entry: (name) => ({ jsonSchema: anyEntry.jsonSchema, read: (node) => readEntry(name, node) }),
    fromEnvironment(entries) {
      const found: ProviderSettings[] = []
      for (const provider of knownProviders) {
        const { id, environmentVariable, hostVariable } = provider
        if (entries.has(id)) continue
        if (!variables.has(environmentVariable) && !variables.has(hostVariable)) continue
        const entry = completeEntry({}, provider, variables)
        if (hostVariable !== undefined && entry.baseUrl !== undefined) found.push({ ...entry, id, type: id })
        // Without its own address there is no destination for the credential.
        if (entry.apiKey && missingMembers(entry, provider).length === 0) found.push({ ...entry, id, type: id })
      }
      return found
    },
  }
}

/** An entry with its own address is a self-hosted server: it lacks its type, unless its name is misspelt. */
function unknownType(name: string, node: ConfigNode, known: readonly string[]): string | undefined {
  if (!node.has("base_url")) return undefined
  const nearest = nearestName(name, known)
  const question = nearest === undefined ? "" : `; or did you mean ${quoteName(nearest)}?`
  const types = "`type: openai-compatible` (or anthropic-compatible, gemini-compatible)"
  return `${quoteName(name)} is not a known provider; add ${types} for your own host${question}`
}

type MemberParsers = Readonly<Record<Exclude<AccountMember, "api_keys">, TextParser<unknown>>>

function parsersOf(reading: CredentialFileContext) {
  const credential = credentialOrFile(reading)
  return {
    base_url: baseUrl,
    api_key: credential,
    resource: hostLabel,
    api_version: apiVersion,
    region: hostLabel,
    access_key_id: credential,
    secret_access_key: credential,
    session_token: credential,
    project: line,
    location: hostLabel,
    credentials_file: googleCredentials(reading),
    tenant_id: entraId,
    client_id: entraId,
    client_secret: credential,
    authority_host: secureUrl,
  } satisfies MemberParsers
}

function memberShapes(parsers: ReturnType<typeof parsersOf>) {
  return {
    base_url: optional(text(parsers.base_url)),
    api_key: optional(text(parsers.api_key)),
    api_keys: optional(list(text(parsers.api_key), { atLeast: 1 })),
    resource: optional(text(parsers.resource)),
    api_version: optional(text(parsers.api_version)),
    region: optional(text(parsers.region)),
    access_key_id: optional(text(parsers.access_key_id)),
    secret_access_key: optional(text(parsers.secret_access_key)),
    session_token: optional(text(parsers.session_token)),
    project: optional(text(parsers.project)),
    location: optional(text(parsers.location)),
    credentials_file: optional(text(parsers.credentials_file)),
    tenant_id: optional(text(parsers.tenant_id)),
    client_id: optional(text(parsers.client_id)),
    client_secret: optional(text(parsers.client_secret)),
    authority_host: optional(text(parsers.authority_host)),
  }
}

function typeIn(node: ConfigNode): string | undefined {
  const content = node.content()
  const type = content.kind === "mapping" ? content.members.get("type")?.content() : undefined
  return type?.kind === "text" ? type.text : undefined
}

function formOf({ form = KEY_FORM }: KnownProvider): AccountForm {
  return form
}

/** Environment variables that replace members. A problem with one is reported once, when it is needed. */
class ProviderVariables {
  private readonly known = new Map<string, unknown>()

  constructor(
    private readonly options: ProviderReaderOptions,
    private readonly parsers: MemberParsers,
  ) {}

  /** An empty variable counts as unset: that is how a shell or a compose file removes one. */
  has(variable: string | undefined): variable is string {
    return variable !== undefined && (this.options.environment[variable] ?? "").trim() !== ""
  }

  /** The environment's value for a member, if any. */
  read(member: AccountMember, provider: KnownProvider): unknown {
    const { environmentVariable: key } = provider
    const rule = formOf(provider).members[member]
    const names = member === "api_key" && key !== undefined ? [key] : (rule?.variables ?? [])
    const variable = names.find((name) => this.has(name))
    if (variable === undefined || member === "api_keys") return undefined
    if (!this.known.has(variable)) this.known.set(variable, this.parse(variable, this.parsers[member]))
    return this.known.get(variable)
  }

  /** The address that the provider's own variable holds, if any. */
  readHost({ hostVariable, baseUrl: usual }: KnownProvider): Partial<FileProvider> {
    if (usual === undefined || !this.has(hostVariable)) return {}
    if (!this.known.has(hostVariable)) this.known.set(hostVariable, this.parse(hostVariable, hostAddress(usual)))
    const found = this.known.get(hostVariable)
    return typeof found === "string" ? { baseUrl: found } : {}
  }

  private parse(variable: string, parser: TextParser<unknown>): unknown {
    const value = parser((this.options.environment[variable] ?? "").trim())
    if (value instanceof Secret) return new Secret(value.reveal(), value.origin ?? `environment variable ${variable}`)
    if (!(value instanceof ParseProblem)) return value
    this.options.problems.push({ path: variable, message: value.message })
    return undefined
  }
}

/** Completes an entry from the environment; members that the entry sets are not mixed with the environment's. */
function completeEntry(entry: FileProvider, provider: KnownProvider, variables: ProviderVariables): FileProvider {
  const { members, proofs } = formOf(provider)
  const read = (names: readonly AccountMember[]) => {
    const found = names.map((name) => [PROPERTIES[name], variables.read(name, provider)] as const)
    return Object.fromEntries(found.filter(([, value]) => value !== undefined)) as Partial<FileProvider>
  }
  const isOpen = (name: AccountMember) => entry[PROPERTIES[name]] === undefined
  const proving = proofs.flatMap(({ needs, mayHave = [] }) => [...needs, ...mayHave])
  const placing = memberNames(members).filter((name) => name === "base_url" || members[name]?.needed === "for-address")
  const others = memberNames(members).filter((name) => !proving.includes(name) && !placing.includes(name))
  const isUnplaced = entry.baseUrl === undefined && placing.every(isOpen)
  const place = isUnplaced ? { ...variables.readHost(provider), ...read(placing) } : {}
  const mayProve = takesEnvironment(entry, formOf(provider)) && proving.every(isOpen)
  const proof = mayProve ? proofs.find(({ needs }) => Object.keys(read(needs)).length === needs.length) : undefined
  return {
    ...read(others.filter(isOpen)),
    ...place,
    ...(proof && read([...proof.needs, ...(proof.mayHave ?? [])])),
    ...entry,
  }
}

function memberNames(members: AccountForm["members"]): AccountMember[] {
  return Object.keys(members) as AccountMember[]
}

/** Required members that the entry lacks. */
function missingMembers(entry: FileProvider, provider: KnownProvider): AccountMember[] {
  if (!provider.form) return provider.baseUrl === undefined && entry.baseUrl === undefined ? ["base_url"] : []
  const { members } = provider.form
  return memberNames(members).filter((name) => {
    const needed = members[name]?.needed
    const applies = needed === "always" || (needed === "for-address" && entry.baseUrl === undefined)
    return applies && entry[PROPERTIES[name]] === undefined
  })
}

/** Problems of an entry as a whole. A member that is present but invalid is not reported again as missing. */
function findFaults(entry: FileProvider, provider: KnownProvider, node: ConfigNode): string[] {
  const { members, proofs } = formOf(provider)
  const type = `the type ${quoteName(provider.id)}`
  const faults = missingMembers(entry, provider)
    .filter((name) => !node.has(name))
    .map((name) => {
      const [variable] = members[name]?.variables ?? []
      return `${type} needs a ${quoteName(name)}${variable === undefined ? "" : `, or the variable ${variable}`}`
    })
  const present = proofs.filter(({ needs }) => needs.some((name) => node.has(name)))
  const ways = (some: typeof proofs) => some.map(({ needs }) => needs.map(quoteName).join(" with ")).join(" or ")
  const { dialects } = provider
  const unsupported = entry.protocols?.filter((protocol) => dialects && !Object.hasOwn(dialects, protocol)) ?? []
  if (dialects && unsupported.length > 0) {
    faults.push(`${type} does not support ${unsupported.join(", ")}; it supports ${Object.keys(dialects).join(", ")}`)
  }
  if (present.length > 1) faults.push(`it may have only one of ${ways(present)}`)
  const holds = (name: AccountMember) => node.has(name) || entry[PROPERTIES[name]] !== undefined
  const isProven = entry.ambient !== undefined || proofs.some(({ needs }) => needs.every(holds))
  if (provider.form && !isProven) faults.push(`${type} needs ${ways(proofs)}${ambientHostsHint(entry, provider.form)}`)
  return faults
}

/** Explains why an entry needs a credential here although its type can do without elsewhere. */
function ambientHostsHint(entry: FileProvider, form: AccountForm): string {
  if (!form.ambient || takesEnvironment(entry, form)) return ""
  return `: credentials of the environment and the cloud go to hosts of the vendor's (*${form.ambient.hosts.join(", *")}) and to this machine only`
}
