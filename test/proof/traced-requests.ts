// Requests that can be found both in the gateway's ledger and on the upstream's bill. Each has its own API key, which the
// ledger records, and its own model name, which the upstream records.
import { readFileSync } from "node:fs"
import type { SimulatedCharge } from "../../src/simulator/simulated-charge.ts"
import { PROTOCOLS, type ProtocolName, sendRequest } from "../money/client.ts"
import { withOfflineAdmin } from "./offline-ledger.ts"
import { runConcurrently } from "./run-concurrently.ts"
import type { SeededRandom } from "./seeded-random.ts"

/** Prices in nano-USD per token; the configuration has them in USD per million. */
export const INPUT_NANO = 1000n
export const OUTPUT_NANO = 2000n

/** The funds of a tenant's keys together, as a balance or as a daily budget. */
const SHARED_USD = "0.05"
export const SHARED_NANO = 50_000_000n
/** Tenants with a budget are named so. */
export const FRUGAL = "frugal"

export interface TracedRequest {
  /** The name of its model at the upstream. */
  readonly name: string
  readonly keyId: string
  readonly key: string
  readonly protocol: ProtocolName
  readonly stream: boolean
  readonly text: string
  /** The upstream's speed, in the simulator's words. */
  readonly words: string
  /** The upstream's protocol for it; all if absent. */
  readonly upstream: ProtocolName | undefined
  /** When the client leaves, if it does. */
  readonly leavesAfterMs: number | undefined
  seen: ClientObserved
}

/** The client's result. */
interface ClientObserved {
  readonly how: "unasked" | "refused" | "whole" | "broken" | "left"
  readonly status?: number
  readonly requestId?: string
  /** The cost in the answer's header; null if it has none. */
  readonly cost?: string | null
  readonly code?: string
}

interface RequestPayer {
  readonly tenant?: string
  readonly balance?: string
}

interface TracedRequestOptions {
  readonly names: readonly string[]
  readonly random: SeededRandom
}

/** Makes a key for each name, in the store of a gateway that does not run. */
export function prepareTracedRequests(
  dataDir: string,
  { names, random }: TracedRequestOptions,
): Promise<TracedRequest[]> {
  const [first = ""] = names
  const [poor, frugal] = [`poor-${first}`, `${FRUGAL}-${first}`]
  const payers: readonly RequestPayer[] = [
    { tenant: "open" },
    { tenant: "open" },
    { balance: "1" },
    // Enough to begin a stream, and neither for more of it nor for a unary call.
    { balance: "0.005" },
    { tenant: poor },
    { tenant: frugal },
  ]
  return withOfflineAdmin(dataDir, async (adminService) => {
    await adminService.tenants.create({ name: poor })
    await adminService.tenants.topUp(poor, { usd: SHARED_USD })
    await adminService.tenants.create({ name: frugal, budgets: { day: SHARED_USD } })
    const prepare = async (name: string): Promise<TracedRequest> => {
      const tracedRequest = thrown(random)
      const { id, key } = await adminService.keys.create({ name, ...random.pick(payers) })
      return { ...tracedRequest, name, keyId: id, key, seen: { how: "unasked" } }
    }
    return Promise.all(names.map(prepare))
  })
}

/** Some answer at once, some late, some slowly; some clients leave before the end. */
function thrown(random: SeededRandom): Omit<TracedRequest, "name" | "keyId" | "key" | "seen"> {
  const isSlow = random.chance(0.3)
  const words = isSlow ? `tokens-per-second-${200 + random.below(3000)}` : `first-token-ms-${random.below(120)}`
  return {
    protocol: random.pick(PROTOCOLS),
    stream: random.chance(0.6),
    text: random.chance(0.5) ? "Say something." : `Say ${random.pick([100, 500, 1500])} words.`,
    words: random.chance(0.3) ? "" : words,
    upstream: random.chance(0.7) ? undefined : random.pick(PROTOCOLS),
    leavesAfterMs: random.chance(0.1) ? random.below(150) : undefined,
  }
}

/** Traced requests that nothing limits and no client leaves, half of them streamed, answered after so much time. */
export function prepareLastingRequests(
  dataDir: string,
  { names, lastsMs }: { names: readonly string[]; lastsMs: number },
) {
  const plain = { text: "Say something.", words: `first-token-ms-${lastsMs}`, upstream: undefined }
  return withOfflineAdmin(dataDir, (adminService) => {
    const prepare = async (name: string, at: number): Promise<TracedRequest> => {
      const protocol = PROTOCOLS[Math.floor(at / 2) % PROTOCOLS.length] ?? "openai-chat"
      const { id, key } = await adminService.keys.create({ name, tenant: "open", requests_per_minute: 1_000_000 })
      const request = { protocol, stream: at % 2 === 0, leavesAfterMs: undefined }
      return { ...plain, ...request, name, keyId: id, key, seen: { how: "unasked" } }
    }
    return Promise.all(names.map(prepare))
  })
}

/** A model for each traced request, served by a simulator at this address. */
export function tracedRequestsConfig(origin: string, tracedRequests: readonly TracedRequest[]): string {
  const only = PROTOCOLS.map((id) => `  at-${id}: { type: simulator, base_url: "${origin}", protocols: [${id}] }`)
  const models = tracedRequests.map(({ name, upstream }) => {
    const provider = upstream ? `at-${upstream}` : "everywhere"
    return `  - { id: t/${name}, context_window: 100000, max_output_tokens: 50000, pricing: { input: "1", output: "2" }, targets: [{ provider: ${provider}, model: ${name} }] }`
  })
  const everywhere = `  everywhere: { type: simulator, base_url: "${origin}" }`
  return ["providers:", everywhere, ...only, "models:", ...models, ""].join("\n")
}

/** The simulator's bills, from a finished file. */
export function readSimulatedCharges(file: string): SimulatedCharge[] {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n")
  return lines.map((line) => JSON.parse(line))
}

interface TracedRunOptions {
  readonly url: string
  readonly atOnce: number
  /** No further traced request is begun. */
  readonly isOver: () => boolean
  /** Between the traced requests of one client. */
  readonly pauseMs?: number
}

/** Runs them in their order until none is left or it is over; resolves when those that were begun have ended. */
export async function runTracedRequests(
  tracedRequests: readonly TracedRequest[],
  running: TracedRunOptions,
): Promise<void> {
  const { url, atOnce, isOver, pauseMs = 0 } = running
  const act = async (tracedRequest: TracedRequest) => {
    if (isOver()) return
    await runTracedRequest(tracedRequest, url)
    if (pauseMs > 0) await Bun.sleep(pauseMs)
  }
  await runConcurrently(tracedRequests, { atOnce, act })
}

export async function runTracedRequest(tracedRequest: TracedRequest, url: string): Promise<void> {
  const { key, protocol, stream, text, name, words, leavesAfterMs } = tracedRequest
  const leaving = new AbortController()
  const timer = leavesAfterMs === undefined ? undefined : setTimeout(() => leaving.abort(), leavesAfterMs)
  const model = `t/${name}${words === "" ? "" : `@${words}`}`
  try {
    const received = await sendRequest({ url, key, protocol, model, stream, text, signal: leaving.signal })
    const { status, id: requestId, cost } = received
    const seen = { status, requestId, cost }
    if (status !== 200) tracedRequest.seen = { ...seen, how: "refused", ...codeIn(received.text) }
    else tracedRequest.seen = { ...seen, how: isWhole(tracedRequest, received.text) ? "whole" : "broken" }
  } catch {
    tracedRequest.seen = { how: leaving.signal.aborted ? "left" : "broken" }
  } finally {
    clearTimeout(timer)
  }
}

/** The end of a stream in each protocol. */
const TERMINALS: Readonly<Record<ProtocolName, RegExp>> = {
  "openai-chat": /^data: \[DONE\]$/m,
  "openai-responses": /^event: response\.(completed|incomplete)$/m,
  "anthropic-messages": /^event: message_stop$/m,
  "gemini-generate": /"finishReason"/,
}

function isWhole({ protocol, stream }: TracedRequest, text: string): boolean {
  if (stream) return TERMINALS[protocol].test(text)
  try {
    return !JSON.parse(text).error
  } catch {
    return false
  }
}

function codeIn(text: string): { code?: string } {
  const [, code] = /"code":\s*"([a-z_]+)"/.exec(text) ?? []
  return code === undefined ? {} : { code }
}
