// Opens the ledger of a data folder without a running gateway, for entries before its start or after its end.
import { join } from "node:path"
import { costOf } from "../../src/ledger/cost.ts"
import { Ledger, type Settlement } from "../../src/ledger/ledger.ts"
import type { HoldRequest } from "../../src/ledger/ledger-rules.ts"
import type { LedgerTable } from "../../src/store/contract.ts"
import { openSqlite } from "../../src/store/sqlite/open-sqlite.ts"

interface StoreLocation {
  readonly dataDir: string
  readonly now?: () => number
}

export async function withOfflineLedger(
  { dataDir, now = Date.now }: StoreLocation,
  act: (ledger: Ledger, table: LedgerTable) => Promise<void>,
): Promise<void> {
  const store = openSqlite(join(dataDir, "trivium.db"))
  try {
    const ledger = new Ledger({ table: store.ledger, now })
    ledger.recover()
    await act(ledger, store.ledger)
    ledger.flush()
  } finally {
    store.close()
  }
}

export const PRICING = { input: "2.5", output: "10", cacheRead: "1.25" }
export const USAGE = { input: 1200, cacheRead: 800, output: 301 }
/** 1,200 × 2.5 + 800 × 1.25 + 301 × 10 USD for a million. */
export const COST = "0.00701"

interface BookedCall extends Pick<HoldRequest, "requestId" | "tenant" | "keyId">, Partial<Settlement> {
  readonly at?: number
}

/** One call from its hold to its settlement, charged by its usage and prices unless given otherwise. */
export async function bookCall(ledger: Ledger, call: BookedCall): Promise<void> {
  const { requestId, tenant, keyId, at = Date.now(), usage = USAGE, images, pricing = PRICING, ...facts } = call
  const used = { usage, ...(images !== undefined && { images }) }
  const chargeNano = costOf(used, pricing)?.nanoUsd ?? 0n
  await ledger.hold({ requestId, tenant, keyId, at, amountNano: 50_000_000n })
  const answered = { model: "openai/gpt-4o", provider: "openai", facts: FACTS }
  await ledger.settle(requestId, { ...answered, chargeNano, ...used, pricing, ...facts })
}

/** The facts of the exchange. */
export const FACTS = {
  protocol: "anthropic-messages",
  upstream_protocol: "openai-chat",
  requested_model: "gpt-4o",
  stream: true,
  basis: "reported",
  held: "0.05",
  attempts: [
    { provider: "azure", model: "openai/gpt-4o", status: 503, error: "upstream_unavailable" },
    { provider: "openai", model: "openai/gpt-4o", status: 200 },
  ],
  losses: [{ path: "top_k", weight: "hint", how: "dropped", why: "has no counterpart" }],
  policy: { strict: false },
}
