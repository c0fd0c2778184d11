// Discovers the models of hosts that an operator runs: asks each for its listing, again and again while it does not
// answer, and keeps what was known until a newer listing is there.
import type { ModelOffer, OfferedModel, ProviderAccount } from "./contract.ts"

export interface DiscoveryOptions {
  /** A listing has arrived; from now on `offeredAt` gives what is in it. */
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
  /** Ends the asking that is under way. */
  stop: () => void
}

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000
const NO_MODELS = "it offers no models"

export class ModelDiscovery {
  private hosts = new Map<string, DiscoveredHost>()

  constructor(private readonly options: DiscoveryOptions) {}

  /** What the host of this account offered when it was last heard of; undefined where it never was. */
  offeredAt(account: ProviderAccount): readonly OfferedModel[] | undefined {
    return this.hosts.get(hostKey(account))?.offer?.models
  }

  /** Asks these accounts' hosts anew, one account of each entry, and forgets all others. */
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

  /** Whether the host need not be queried again. A server without models may soon get one. */
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

/** A host that moved is another host. */
function hostKey({ id, baseUrl }: ProviderAccount): string {
  return `${id}\n${baseUrl}`
}

function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
