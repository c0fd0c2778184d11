// Requests on raw sockets that try to be two requests, another caller's, or at another path.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { within } from "../stage/eventually.ts"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { RawClient } from "../stage/raw-client.ts"
import { completion, ScriptedUpstream } from "../stage/upstream.ts"
import { type RawCase, rawCorpus } from "./raw-corpus.ts"
import type { ProofRow } from "./row.ts"
import { runConcurrently } from "./run-concurrently.ts"

/** A connection that is still open then was not closed. */
const CLOSED_WITHIN_MS = 13_000
/** In the tests, whose machine may be busy. */
const CLOSED_ON_BUSY_MS = 25_000
const AT_ONCE = 32

interface CorpusResult {
  readonly statuses: readonly number[]
  readonly closed: boolean
}

export const rawSockets: ProofRow = {
  number: 11,
  title: "raw-socket corpus: smuggling, duplicate headers, path tricks",
  async run({ short, print }) {
    const upstream = await ScriptedUpstream.start((_, reply) => reply.json(completion("reached")))
    const gateway = await RunningGateway.start({ config: upstreamConfig(upstream.baseUrl) })
    try {
      const adminKey = readFileSync(join(gateway.dataDir, "admin-key"), "utf8").trim()
      const cases = rawCorpus({ key: gateway.key, admin: new URL(gateway.adminUrl).host, adminKey })
      const before = await keyCount(gateway)
      const seen = await runConcurrently(cases, {
        atOnce: AT_ONCE,
        act: (each) => put(gateway.url, each, short ? CLOSED_ON_BUSY_MS : CLOSED_WITHIN_MS),
      })
      const wrong = cases.filter((_, at) => !isOneRefusal(seen[at]))
      const silent = cases.filter((_, at) => seen[at]?.closed && seen[at]?.statuses.length === 0)
      const open = cases.filter((_, at) => !seen[at]?.closed)
      for (const { what } of wrong) print(`not refused once: ${what}`)
      for (const { what } of silent) print(`closed without an answer: ${what}`)
      for (const { what } of open) print(`left open: ${what}`)
      return [
        { what: "cases", seen: cases.length, atLeast: 150 },
        { what: "not refused exactly once", seen: wrong.length, atMost: 0 },
        { what: "refused connections closed without an answer", seen: silent.length, atMost: 0 },
        { what: "connections left open", seen: open.length, atMost: 0 },
        { what: "requests that reached the provider", seen: upstream.requests.length, atMost: 0 },
        { what: "keys made or lost", seen: Math.abs((await keyCount(gateway)) - before), atMost: 0 },
        { what: "status of an honest request afterwards", seen: await honest(gateway), atLeast: 200, atMost: 200 },
      ]
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  },
}

/** One 4xx, or 505 to another version of HTTP. */
function isOneRefusal(seen: CorpusResult | undefined): boolean {
  const [status, ...more] = seen?.statuses ?? []
  return status !== undefined && more.length === 0 && ((status >= 400 && status < 500) || status === 505)
}

async function put(url: string, { bytes }: RawCase, closedWithinMs: number): Promise<CorpusResult> {
  const client = await RawClient.connect(url)
  await client.send(Buffer.from(bytes, "latin1"))
  const closed = await within(client.closed, "the end", closedWithinMs).then(
    () => true,
    () => false,
  )
  client.leave()
  const statuses = [...client.received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
  return { statuses, closed }
}

async function keyCount(gateway: RunningGateway): Promise<number> {
  const { keys } = (await (await gateway.administer("/admin/v1/keys")).json()) as { keys: unknown[] }
  return keys.length
}

async function honest(gateway: RunningGateway): Promise<number> {
  return (await gateway.chat({ model: "test/model", messages: [{ role: "user", content: "hi" }] })).status
}
