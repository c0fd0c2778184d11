// Discovers the models of hosts that an operator runs: queries each for its listing, repeatedly while it does not
// respond, and keeps the last listing until there is a newer one.
import type { ModelOffer, OfferedModel, ProviderAccount } from "./contract.ts"

export interface DiscoveryOptions {
  /** Called when a listing has arrived; `offeredAt` returns it from then on. */
  readonly onOffer: (account: ProviderAccount, offer: ModelOffer) => void
  /** Called once when a host lists no models, until it does. */
  readonly onFailure: (account: ProviderAccount, reason: string) => void
  /** The pause before a host is queried again; it doubles up to the longest. */
  readonly firstPauseMs?: number
  readonly longestPauseMs?: number
}

interface DiscoveredHost {
  /** The last listing. */
  offer?: ModelOffer
  failed: boolean
  /** Ends the query in progress. */
  stop: () => void
}

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000
const NO_MODELS = "it offers no models"

export class ModelDiscovery {
  private hosts = new Map<string, DiscoveredHost>()

  constructor(private readonly options: DiscoveryOptions) {}

  /** The last known models of this account's host; undefined if it has never responded. */
  offeredAt(account: ProviderAccount): readonly OfferedModel[] | undefined {
    return this.hosts.get(hostKey(account))?.offer?.models
  }

  /** Queries the hosts of these accounts again, one account per entry, and forgets all others. */
  follow(accounts: Iterable<readonly ProviderAccount[]>): void {
    const followed = new Map<string, DiscoveredHost>()
    const discovering = [...accounts].flatMap(([first]) => (first?.listModels ? [first] : []))
    for (const account of discovering) {
      const { offer, failed = false } = this.hosts.get(hostKey(account)) ?? {}
      followed.set(hostKey(account), { ...(offer && { offer }), failed, stop: () => {} })
    }
    this.stop()
    this.hosts = followed
    for (const account of discovering) void this.ask(account, followed.get(hostKey(account)))
  }

  stop(): void {
    for (const host of this.hosts.values()) host.stop()
  }

  private async ask(account: ProviderAccount, host: DiscoveredHost | undefined): Promise<void> {
    if (!host || !account.listModels) return
    const { firstPauseMs = FIRST_PAUSE_MS, longestPauseMs = LONGEST_PAUSE_MS } = this.options
    let stopped = false
    let wake = () => {}
    host.stop = () => {
      stopped = true
      wake()
    }
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const found = await account.listModels().catch(reasonOf)
      if (stopped || this.handleListing(account, { host, found })) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pauseMs)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      if (stopped) return
    }
  }

  /** True if the host need not be queried again. A server without models may soon have one. */
  private handleListing(
    account: ProviderAccount,
    { host, found }: { host: DiscoveredHost; found: ModelOffer | string },
  ): boolean {
    const { onOffer, onFailure } = this.options
    const offer = typeof found === "string" ? undefined : found
    const offersAny = offer !== undefined && offer.models.length + offer.unnameable > 0
    if (offer && (offersAny || host.offer?.models.length)) {
      host.offer = offer
      onOffer(account, offer)
    }
    if (!offersAny && !host.failed) onFailure(account, typeof found === "string" ? found : NO_MODELS)
    host.failed = !offersAny
    return offersAny
  }
}

/** A host with a new address counts as another host. */
function hostKey({ id, baseUrl }: ProviderAccount): string {
  return `${id}\n${baseUrl}`
}

function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
