// A store as after long use: many keys and a long ledger.
import { loadConfig } from "../src/config/load-config.ts"
import { knownProviders } from "../src/gateway-table.ts"
import { Ledger } from "../src/ledger/ledger.ts"
import { openAdminService } from "../src/open-store.ts"
import { openSqlite } from "../src/store/sqlite/open-sqlite.ts"

/** The most keys that call, spread over the store. */
const MOST_ACTIVE = 10_000
const GROUP = 256

interface StoreFilling {
  readonly data: string
  readonly keys: number
  readonly rows: number
}

/** The texts of the keys that call. */
export async function fillStore({ data, keys, rows }: StoreFilling): Promise<string[]> {
  const flags = { data }
  const config = loadConfig({ flags, environment: {}, workingDir: data, knownProviders })
  const opened = openAdminService(config, {})
  const every = Math.max(1, Math.floor(keys / MOST_ACTIVE))
  const [ids, active]: [string[], string[]] = [[], []]
  for (let at = 0; at < keys; at++) {
    const { key, text } = opened.keys.create({ name: `key ${at}`, ...LIMITS })
    ids.push(key.id)
    if (at % every === 0) active.push(text)
  }
  opened.close()
  const store = openSqlite(config.storePath)
  const ledger = new Ledger({ table: store.ledger })
  ledger.recover()
  for (let done = 0; done < rows; done += GROUP) await book(ledger, { count: Math.min(GROUP, rows - done), ids })
  ledger.flush()
  store.close()
  return active
}

/** Far away, but counted. */
const LIMITS = { requestsPerMinute: 1_000_000_000, tokensPerMinute: 1_000_000_000, concurrentRequests: 1_000_000 }

async function book(ledger: Ledger, { count, ids }: { count: number; ids: readonly string[] }): Promise<void> {
  const requests = Array.from({ length: count }, () => Bun.randomUUIDv7())
  const keyOf = () => ids[Math.floor(Math.random() * ids.length)] ?? "nobody"
  const at = Date.now()
  await Promise.all(
    requests.map((requestId) =>
      ledger.hold({ requestId, tenant: "default", keyId: keyOf(), amountNano: 9_000_000n, at }),
    ),
  )
  await Promise.all(
    requests.map((requestId) =>
      ledger.settle(requestId, {
        ...{ chargeNano: 1_234_567n, model: "bench/fixed", provider: "bench", usage: { input: 1000, output: 200 } },
        facts: { protocol: "openai-chat", attempts: [{ provider: "bench", model: "bench/fixed" }] },
      }),
    ),
  )
}
