// Credentials that a cloud gives to its workloads. The configuration only decides if an entry may use them, and keeps
// the variables that locate them; the provider fetches them.
import type { AccountForm, ProviderSettings } from "./config.ts"
import { toCamelCase } from "./config-shape.ts"
import { isOnThisMachine } from "./parse-values.ts"
import { Secret } from "./secret.ts"

type ProviderEntry = Partial<Omit<ProviderSettings, "id" | "type">>

/** True if an entry may use ambient credentials: they are never sent to an address that is not the vendor's. */
export function takesEnvironment({ baseUrl }: ProviderEntry, { ambient }: AccountForm): boolean {
  if (baseUrl === undefined) return true
  const { hostname } = new URL(baseUrl)
  return ambient !== undefined && (isOnThisMachine(hostname) || ambient.hosts.some((host) => hostname.endsWith(host)))
}

/** The variables that locate the cloud's credentials; undefined if the entry has its own, or may not use them. */
export function ambientCredentials(
  entry: ProviderEntry,
  form: AccountForm,
  environment: Readonly<Record<string, string | undefined>>,
): ProviderEntry["ambient"] {
  const { ambient } = form
  if (!ambient) return undefined
  const { mayHave = [], variables } = ambient
  const proving = form.proofs.flatMap(({ needs, mayHave: also = [] }) => [...needs, ...also])
  const own = proving.filter((name) => entry[toCamelCase(name) as keyof ProviderEntry] !== undefined)
  const narrowed = own.some((name) => mayHave.includes(name))
  const usable = own.every((name) => mayHave.includes(name)) && (narrowed || takesEnvironment(entry, form))
  if (!usable) return undefined
  const set = variables.flatMap((name) => {
    const value = environment[name]?.trim() ?? ""
    return value === "" ? [] : [[name, new Secret(value)] as const]
  })
  return Object.fromEntries(set)
}
