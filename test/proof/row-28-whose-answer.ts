// Providers that answer twice or leave bytes on a connection. Every caller sends unique words, and its answer must not
// contain another tenant's.
import { setTimeout } from "node:timers/promises"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { KeyFolder } from "../stage/keys.ts"
import { HOSTILE_ANSWERS } from "./hostile-answers.ts"
import type { ProofFigure, ProofRow } from "./row.ts"
import { runConcurrently } from "./run-concurrently.ts"
import { StrayHost } from "./stray-host.ts"

interface TenantKey {
  readonly tenant: string
  readonly key: string
}

/** A call that is not over by then has failed, whatever it waits for. */
const PATIENCE_MS = 20_000

/** Callers of one gateway, and their answers. */
class TenantCallers {
  answered = 0
  readonly unanswered: string[] = []
  /** Answers that hold another tenant's words. */
  readonly foreign: string[] = []
  /** Answers that hold words of another call of the same tenant. */
  mixed = 0
  private calls = 0

  constructor(
    private readonly url: string,
    readonly keys: readonly TenantKey[],
  ) {}

  async call(caller: TenantKey, { words = "", stream = false } = {}): Promise<void> {
    const id = `${caller.tenant}/${++this.calls}`
    const { ok, text } = await this.ask(caller.key, { content: `<${id}> ${words}`, stream }).catch(() => UNANSWERED)
    // Content of another call may also be quoted in an error, or follow the answer.
    const owners = [...text.matchAll(/<(?:stray of )?([^<>"/]+)\/(\d+)>/g)].map(([, tenant, call]) => ({
      tenant,
      call,
    }))
    const other = owners.find(({ tenant }) => tenant !== caller.tenant)
    if (other) this.foreign.push(`${id} ${words} got ${other.tenant}/${other.call}`)
    else if (owners.some(({ tenant, call }) => `${tenant}/${call}` !== id)) this.mixed++
    else if (ok && owners.length > 0) this.answered++
    else this.unanswered.push(`${id} ${words}: ${text.slice(0, 300)}`)
  }

  private async ask(key: string, { content, stream }: { content: string; stream: boolean }) {
    const response = await fetch(`${this.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "test/model", messages: [{ role: "user", content }], stream }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    return { ok: response.ok, text: await response.text() }
  }
}

const UNANSWERED = { ok: false, text: "nothing" }

/** Calls by each tenant, one after the other, with pauses around the second after which connections change hands. */
async function callInTurns(
  callers: TenantCallers,
  { each, pauseMs }: { each: number; pauseMs: number },
): Promise<void> {
  await Promise.all(
    callers.keys.map(async (key) => {
      for (let call = 0; call < each; call++) {
        await callers.call(key, { stream: call % 4 === 0 })
        await setTimeout(Math.random() * pauseMs)
      }
    }),
  )
}

interface IsolationStage {
  readonly host: StrayHost
  readonly isolation: "shared" | "strict"
  readonly tenants: number
}

async function onStage<Result>(
  { host, isolation, tenants }: IsolationStage,
  act: (url: string, keys: TenantKey[]) => Promise<Result>,
): Promise<Result> {
  const folder = new KeyFolder()
  const keys = folder.within((store) =>
    Array.from({ length: tenants }, (_, index) => {
      const tenant = `tenant-${index}`
      return { tenant, key: store.create({ name: tenant, tenant, requestsPerMinute: 1_000_000 }).text }
    }),
  )
  const config = upstreamConfig(host.baseUrl, `upstream: { isolation: ${isolation} }`)
  const gateway = await RunningGateway.start({ config, dataDir: folder.path })
  try {
    return await act(gateway.url, keys)
  } finally {
    await gateway.stop()
    await host.stop()
    folder.remove()
  }
}

/** Late answers arrive within the second in which a connection is not handed over. */
const LATEST_MS = 900

/** Half of the answers come twice. */
async function doubleAnswers({
  each,
  tenants,
}: {
  each: number
  tenants: number
}): Promise<[TenantCallers, StrayHost]> {
  const againAfterMs = () => (Math.random() < 0.5 ? Math.random() * LATEST_MS : undefined)
  const host = await StrayHost.start({ againAfterMs, latestMs: LATEST_MS })
  const callers = await onStage({ host, isolation: "shared", tenants }, async (url, keys) => {
    const callers = new TenantCallers(url, keys)
    await callInTurns(callers, { each, pauseMs: 1400 })
    return callers
  })
  return [callers, host]
}

interface HostileRun {
  readonly isolation: "shared" | "strict"
  readonly neighbours: number
  /** Calls of each neighbour. */
  readonly each: number
  readonly slowness: number
}

const ATTACKERS = 8
const SHOWN = 5

/** The corpus, by some tenants, while others call the same provider. */
async function hostileAnswers({
  isolation,
  neighbours,
  each,
  slowness,
}: HostileRun): Promise<[TenantCallers, StrayHost]> {
  const latestMs = isolation === "shared" ? LATEST_MS : Number.POSITIVE_INFINITY
  const host = await StrayHost.start({ slowness, latestMs })
  const shared = await onStage({ host, isolation, tenants: neighbours + ATTACKERS }, async (url, keys) => {
    const callers = new TenantCallers(url, keys.slice(ATTACKERS))
    const attackers = new TenantCallers(url, keys.slice(0, ATTACKERS))
    let isOver = false
    const attack = async () => {
      while (!isOver) {
        await runConcurrently(HOSTILE_ANSWERS, {
          atOnce: ATTACKERS,
          act: async (_, index) => {
            const attacker = attackers.keys[index % ATTACKERS]
            if (attacker) await attackers.call(attacker, { words: `hostile ${index}` })
          },
        })
      }
    }
    const attacking = attack()
    await callInTurns(callers, { each, pauseMs: 1400 })
    isOver = true
    await attacking
    callers.foreign.push(...attackers.foreign)
    return callers
  })
  return [shared, host]
}

export const whoseAnswer: ProofRow = {
  number: 28,
  title: "answers reach their own caller",
  async run({ short, print }) {
    const shared = { isolation: "shared", slowness: 1, neighbours: short ? 40 : 60, each: short ? 10 : 40 } as const
    const strict = { isolation: "strict", slowness: 3, neighbours: short ? 20 : 40, each: short ? 5 : 30 } as const
    const [[twice, doubleHost], [together, sharedHost], [apart, strictHost]] = await Promise.all([
      doubleAnswers(short ? { tenants: 40, each: 8 } : { tenants: 60, each: 85 }),
      hostileAnswers(shared),
      hostileAnswers(strict),
    ])
    for (const { foreign, unanswered } of [twice, together, apart]) {
      for (const what of [...foreign.slice(0, SHOWN), ...unanswered.slice(0, SHOWN)]) print(what)
    }
    print(`${doubleHost.strays} second answers; ${twice.mixed} went to another call of the same tenant`)
    print(`${sharedHost.strays + strictHost.strays} hostile pieces after an answer`)
    return [
      ...figuresOf("with duplicate answers", twice, { calls: short ? 300 : 5000 }),
      ...figuresOf("next to hostile answers", together, { calls: short ? 300 : 1000 }),
      ...figuresOf("next to hostile answers, under strict isolation", apart, { calls: short ? 90 : 1000 }),
      { what: "kinds of hostile answers", seen: HOSTILE_ANSWERS.length, atLeast: 80 },
      { what: "second answers sent", seen: doubleHost.strays, atLeast: short ? 20 : 200 },
      { what: "connections handed over", seen: doubleHost.handedOver + sharedHost.handedOver, atLeast: 5 },
      { what: "connections handed over, under strict isolation", seen: strictHost.handedOver, atMost: 0 },
    ]
  },
}

function figuresOf(what: string, callers: TenantCallers, { calls }: { calls: number }): ProofFigure[] {
  const all = callers.answered + callers.unanswered.length + callers.mixed + callers.foreign.length
  return [
    { what: `calls ${what}`, seen: all, atLeast: calls },
    { what: `answers of another tenant ${what}`, seen: callers.foreign.length, atMost: 0 },
    { what: `calls not answered ${what}`, seen: callers.unanswered.length, atMost: all / 20 },
  ]
}
