// All providers are down: failures do not cause additional calls, and the providers are used again as soon as they
// work.
import type { UpstreamScript } from "../stage/upstream.ts"
import type { ProofRow } from "./row.ts"
import { ANSWERS, NAMES, ThreeProviders, type TimedCall } from "./three-providers.ts"

const PER_SECOND = 100
const SETTLING_MS = 2000

const FAILS: UpstreamScript = (_, reply) => reply.json({ error: { message: "down", type: "server_error" } }, 503)

export const outage: ProofRow = {
  number: 5,
  title: "all upstreams answer 503",
  async run({ short, print }) {
    const stage = await ThreeProviders.start()
    const everybody = (script: UpstreamScript) => {
      for (const name of NAMES) stage.hosts[name].script = script
    }
    try {
      const before = await stage.load(PER_SECOND, { seconds: 1 })
      everybody(FAILS)
      const settling = await stage.load(PER_SECOND, { seconds: SETTLING_MS / 1000 })
      const callsBefore = stage.calls
      const during = await stage.load(PER_SECOND, { seconds: short ? 3 : 28 })
      const calls = stage.calls - callsBefore
      everybody(ANSWERS)
      const recoveredAt = performance.now()
      const after = await stage.load(PER_SECOND, { seconds: short ? 2 : 8 })
      const lastFailed = after.findLast(({ status }) => status !== 200)
      print(
        `${settling.length + during.length} requests during the outage, ${calls} calls for the last ${during.length}`,
      )
      return [
        { what: "failures before the outage", seen: failed(before), atMost: 0 },
        {
          what: "requests answered in the outage",
          seen: settling.length + during.length - failed([...settling, ...during]),
          atMost: 0,
        },
        {
          what: "calls per request, after 2 s",
          seen: calls / during.length,
          atLeast: 1,
          atMost: 1.3,
          needsQuiet: true,
        },
        { what: "requests answered after it", seen: after.length - failed(after), atLeast: 1 },
        {
          what: "time until the last failure",
          seen: lastFailed ? lastFailed.at - recoveredAt : 0,
          atMost: 5000,
          unit: "ms",
        },
      ]
    } finally {
      await stage.stop()
    }
  },
}

function failed(calls: readonly TimedCall[]): number {
  return calls.filter(({ status }) => status !== 200).length
}
