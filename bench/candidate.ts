// A server of chat completions that is measured: the upstream itself, nginx, the bare proxy or the gateway.
import type { ChildProcesses } from "./children.ts"

/**
 * `unbooked` is the gateway without its books, `filled` the one with many keys and a long ledger, of which as few call as
 * of the empty one; `crowd` is the same process, called by thousands in turn; `before` is another checkout's gateway.
 */
export type CandidateName =
  | "direct"
  | "nginx"
  | "bare"
  | "unbooked"
  | "gateway"
  | "filled"
  | "crowd"
  | "translated"
  | "before"

export type BenchCandidate = {
  name: CandidateName
  port: number
  headers: Record<string, string>
  /** Used in rotation, one per request; empty if the headers have the key. */
  keys?: readonly string[]
  /** The process that is charged; the upstream itself is not measured. */
  pid: number | undefined
}

export type StartOptions = {
  children: ChildProcesses
  upstreamPort: number
  /** A folder of this run's own, removed at its end. */
  folder: string
  cpu: number | undefined
}

export function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } })
  listener.stop(true)
  return listener.port
}

/** Waits until `ready` gives something, which it may do by throwing until then. */
export async function waitFor<T>(what: string, ready: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + 15_000
  for (let problem: unknown; ; await Bun.sleep(10)) {
    try {
      const value = await ready()
      if (value !== undefined) return value
    } catch (error) {
      problem = error
    }
    if (performance.now() > deadline) throw new Error(`${what} did not start in time`, { cause: problem })
  }
}

export type BenchProbe = { path: string; body: string; endMark: string }

/** Proves before any load that the candidate answers as it should, in both ways. */
export async function probe(
  { name, port, headers }: BenchCandidate,
  { unary, stream }: { unary: BenchProbe; stream: BenchProbe },
) {
  const ask = async ({ path, body }: BenchProbe) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${name} answered ${answer.status}: ${text.slice(0, 500)}`)
    return text
  }
  if (!(await ask(unary)).includes(" naïvely")) throw new Error(`${name} gave a unary answer without its content`)
  if (!(await ask(stream)).endsWith(stream.endMark)) throw new Error(`${name} gave a stream without its end mark`)
}
