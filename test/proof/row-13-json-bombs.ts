// Bodies that are costly to parse, many at once: other clients are not delayed, and memory stays bounded.
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { completion, ScriptedUpstream } from "../stage/upstream.ts"
import type { ProofRow } from "./row.ts"
import { faultsLogged, loopFigure, watch } from "./watch-gateway.ts"

const MIB = 1024 * 1024
const START = '{"model":"test/model","messages":[{"role":"user","content":"hi"}],"x":'

/** Bodies of about so many bytes. */
const SHAPES: Readonly<Record<string, (bytes: number) => string>> = {
  "deep arrays": (bytes) => `${START}${"[".repeat(bytes)}`,
  "deep arrays, closed": (bytes) => `${START}${"[".repeat(bytes / 2)}${"]".repeat(bytes / 2)}}`,
  "deep objects": (bytes) => `${START}${'{"a":'.repeat(bytes / 5)}`,
  "a wide array": (bytes) => `${START}[${"0,".repeat(bytes / 2)}0]}`,
  "a wide array of objects": (bytes) => `${START}[${'{"a":1},'.repeat(bytes / 8)}0]}`,
  "a wide object": (bytes) => `${START}{${wideMembers(bytes)}"z":0}}`,
  "many members": (bytes) => `{${wideMembers(bytes)}"model":"test/model","messages":[]}`,
  "one long string": (bytes) => `${START}"${"a".repeat(bytes)}"}`,
  "one long string of escapes": (bytes) => `${START}"${"\\u0041".repeat(bytes / 6)}"}`,
  "one long string of quotes": (bytes) => `${START}"${'\\"'.repeat(bytes / 2)}"}`,
  "many short strings": (bytes) => `${START}[${'"a",'.repeat(bytes / 4)}"a"]}`,
  "white space": (bytes) => `${START}${" ".repeat(bytes)}0}`,
  "a long number": (bytes) => `${START}${"1".repeat(bytes)}}`,
  "bytes beyond ASCII": (bytes) => `${START}"${"ü".repeat(bytes / 2)}"}`,
}

function wideMembers(bytes: number): string {
  const members: string[] = []
  for (let at = 0; at < bytes / 12; at++) members.push(`"m${at.toString(36).padStart(6, "0")}":1,`)
  return members.join("")
}

export const jsonBombs: ProofRow = {
  number: 13,
  title: "deep, wide, huge JSON",
  async run({ short, print }) {
    const upstream = await ScriptedUpstream.start((_, reply) => reply.json(completion("hi")))
    const gateway = await RunningGateway.start({ config: upstreamConfig(upstream.baseUrl) })
    const bytes = short ? 6 * MIB : 31 * MIB
    const parallel = short ? 6 : 20
    const statuses = new Map<number, number>()
    let worstWait = 0
    let late = 0
    let mostGrown = 0
    try {
      for (const [what, build] of Object.entries(SHAPES)) {
        const body = Buffer.from(build(bytes))
        const { grownMb, waits, loop } = await watch(gateway, async () => {
          const answers = Array.from({ length: parallel }, () => gateway.chat(body).then(statusOf))
          for (const status of await Promise.all(answers)) statuses.set(status, (statuses.get(status) ?? 0) + 1)
        })
        const wait = Math.max(...waits)
        print(`${what}: longest wait ${wait.toFixed(0)} ms, memory +${grownMb.toFixed(0)} MB`)
        worstWait = Math.max(worstWait, wait)
        late += loop.late
        mostGrown = Math.max(mostGrown, grownMb)
      }
      const odd = [...statuses].filter(([status]) => ![200, 400, 503].includes(status))
      print(`answers by status: ${[...statuses].map(([status, count]) => `${status}: ${count}`).join(", ")}`)
      return [
        { what: "longest wait of a small request meanwhile", seen: worstWait, atMost: 150, unit: "ms" },
        loopFigure({ late }),
        { what: "peak memory growth", seen: mostGrown, atMost: 700, unit: "MB" },
        { what: "statuses other than 200, 400 and 503", seen: odd.length, atMost: 0 },
        { what: "faults logged", seen: faultsLogged(gateway), atMost: 0 },
      ]
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  },
}

async function statusOf(response: Response): Promise<number> {
  await response.arrayBuffer()
  return response.status
}
