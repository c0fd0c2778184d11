// Providers' credentials as an operator manages them: in a running gateway, or on its store; a part of the composition
// root.
import type { ProviderAdministration, ProviderCredentialInput, ProviderState } from "./admin/gateway-view.ts"
import { type SyncStore, withSync } from "./admin/services/with-sync.ts"
import type { ProviderCredentials } from "./administration.ts"
import { excerpt, GatewayError } from "./canonical/gateway-error.ts"
import { nearestName } from "./canonical/nearest-name.ts"
import { checkAccounts } from "./cli/check-accounts.ts"
import type { GatewayConfig, ProviderSettings } from "./config/config.ts"
import { ConfigError } from "./config/config-error.ts"
import { ParseProblem } from "./config/config-shape.ts"
import { credential as readCredential } from "./config/parse-values.ts"
import type { Secret } from "./config/secret.ts"
import type { GatewayTable } from "./gateway-table.ts"

export interface ProviderServiceOptions {
  readonly credentials: ProviderCredentials
  readonly config: () => GatewayConfig
  /** By the configuration and the stored credentials as they are now. */
  readonly table: () => GatewayTable
  /** Called when a credential was set or removed. */
  readonly onChange: () => void
  readonly sync: SyncStore
  /** Reads this text as a configuration. */
  readonly readConfig: (text: string) => GatewayConfig
  /** The configuration file, as an operator finds it. */
  readonly configFile: string
}

/** A placeholder for the credential while its entry is checked. */
const PLACEHOLDER = "credential"

export class ProviderService implements ProviderAdministration {
  constructor(private readonly options: ProviderServiceOptions) {}

  async list(): Promise<ProviderState[]> {
    const { credentials, config, table } = this.options
    return credentials.states(config(), table())
  }

  async add(id: string, { api_key, ...settings }: ProviderCredentialInput): Promise<ProviderState> {
    const { credentials, config, onChange, sync } = this.options
    const credential = parseCredential(api_key)
    const configured = config().providers.find((settings) => settings.id === id)
    const given = Object.keys(settings)
    if (configured && given.length > 0) {
      const message = `\`${excerpt(id)}\` is configured ${this.placeOf(await this.state(id))}; its ${given.join(", ")} must be set there.`
      throw new GatewayError("invalid_parameter", message, { param: given[0] })
    }
    if (!configured && settings.type === undefined) this.refuseUnknown(id)
    if (credentials.refusesKey(configured?.type ?? settings.type ?? id)) {
      const message = `\`${excerpt(id)}\` does not use an API key. Set its credential in ${this.options.configFile}.`
      throw new GatewayError("invalid_parameter", message)
    }
    credentials.set(configured ?? this.readEntry(id, settings), { credential, entry: !configured })
    onChange()
    return withSync(this.state(id), sync)
  }

  async remove(id: string): Promise<ProviderState> {
    const { credentials, onChange, sync } = this.options
    const before = await this.find(id)
    if (!credentials.remove(id)) {
      const message =
        before?.source == null
          ? `No credential is stored for \`${excerpt(id)}\`.`
          : `No credential is stored for \`${excerpt(id)}\`. It is configured ${this.placeOf(before)}: remove it there.`
      throw new GatewayError("resource_not_found", message)
    }
    onChange()
    // An entry that was stored with its credential is gone now.
    const after = (await this.find(id)) ?? { ...before, ...FORGOTTEN }
    return withSync(after as ProviderState, sync)
  }

  async check(id: string): Promise<Pick<Awaited<ReturnType<typeof checkAccounts>>, "sound" | "providers">> {
    const { credentials, config, table } = this.options
    const settings = credentials.withCredentials(config()).providers.find((each) => each.id === id)
    if (!settings) {
      const message = `\`${excerpt(id)}\` is neither configured nor stored. Store its credential: trivium providers add ${excerpt(id)}`
      throw new GatewayError("resource_not_found", message)
    }
    const { sound, providers } = await checkAccounts(table(), { config: { providers: [settings] } })
    return { sound, providers }
  }

  private refuseUnknown(id: string): void {
    const known = this.options.credentials.knownTypes
    if (known.includes(id)) return
    const nearest = nearestName(id, known)
    const question = nearest === undefined ? "" : ` Did you mean \`${nearest}\`?`
    const advice = "For your own host, set its type and address: `openai-compatible` with a `base_url`."
    throw new GatewayError("resource_not_found", `There is no provider \`${excerpt(id)}\`.${question} ${advice}`)
  }

  private async find(id: string): Promise<ProviderState | undefined> {
    return (await this.list()).find((state) => state.id === id)
  }

  private async state(id: string): Promise<ProviderState> {
    const state = await this.find(id)
    if (!state) throw new Error("a provider that was found a moment ago is there")
    return state
  }

  private placeOf({ variable }: ProviderState): string {
    return variable === null ? `in ${this.options.configFile}` : `by the environment variable ${variable}`
  }

  /** An entry that is in no configuration, held to the rules of those that are. */
  private readEntry(id: string, settings: Omit<ProviderCredentialInput, "api_key">): ProviderSettings {
    const values = Object.values(settings)
    // In a configuration that would be a variable of the environment.
    if (values.some((value) => value.includes("${"))) {
      throw new GatewayError(
        "invalid_parameter",
        "A value cannot reference an environment variable. Send the value itself.",
      )
    }
    const text = JSON.stringify({ providers: { [id]: { ...settings, api_key: PLACEHOLDER } } })
    try {
      const { providers } = this.options.readConfig(text)
      const { apiKey: _, ...settings } = providers.find((each) => each.id === id) ?? { id, type: id }
      return settings
    } catch (thrown) {
      if (!(thrown instanceof ConfigError)) throw thrown
      const problems = thrown.problems.map(({ path, message }) => `${path.replace(/^providers\./, "")}: ${message}`)
      throw new GatewayError("invalid_parameter", `${problems.join(". ")}.`)
    }
  }
}

const FORGOTTEN = { credential: "none", accounts: 0, source: null, hint: null, stored_at: null } as const

function parseCredential(text: string): Secret {
  const credential = readCredential(text)
  if (!(credential instanceof ParseProblem)) return credential
  throw new GatewayError("invalid_parameter", `\`api_key\`: ${credential.message}.`, { param: "api_key" })
}
