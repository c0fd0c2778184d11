// Joins the discovery of models to the gateway and its log; a part of the composition root.
import type { ModelOffer, ProviderAccount } from "./providers/contract.ts"
import { ModelDiscovery } from "./providers/discovery.ts"
import type { Log } from "./telemetry/log.ts"

/** A host whose models are not known yet. */
export interface UndiscoveredHost {
  readonly provider: string
  readonly address: string
}

/** Calls `onChange` when models were discovered. Logs each listing, and once each host without one. */
export function openDiscovery(log: Log, onChange: () => void): ModelDiscovery {
  return new ModelDiscovery({
    onOffer: ({ id: provider }, offer) => {
      onChange()
      log.line("info", "models-discovered", { provider, models: offer.models.length })
      for (const [models, reason] of leftOutModels(offer))
        log.line("warn", "models-left-out", { provider, models, reason })
    },
    onFailure: ({ id: provider, baseUrl }, why) => {
      const reason = `${baseUrl} lists no models: ${why}. The gateway retries until it does.`
      log.line("warn", "models-not-discovered", { provider, reason })
    },
  })
}

/** How many models of a listing cannot be called, and why. */
function leftOutModels({ unnameable, excess }: ModelOffer): [number, string][] {
  const reasons: [number, string][] = [
    [
      unnameable,
      "Their names are not valid: a model name consists of letters, digits and `. _ : @ / -`, and begins with a letter or digit. Rename them on the server, or list them under `models` in trivium.yaml.",
    ],
    [excess, "The list is too long. List the models you need under `models` in trivium.yaml."],
  ]
  return reasons.filter(([count]) => count > 0)
}

export function undiscoveredHosts(
  accounts: Iterable<readonly ProviderAccount[]>,
  discovery: ModelDiscovery,
): UndiscoveredHost[] {
  const listing = [...accounts].flatMap(([first]) => (first?.listModels ? [first] : []))
  const unknown = listing.filter((account) => discovery.offeredAt(account) === undefined)
  return unknown.map(({ id: provider, baseUrl: address }) => ({ provider, address }))
}
