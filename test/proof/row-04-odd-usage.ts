// Usage that is missing, odd, reported twice or too late: the charge equals the upstream's own bill, and the receipt
// states whether usage was reported or counted locally.

import { PROTOCOLS, type ProtocolName, sendRequest } from "../money/client.ts"
import { modelAt, tokensOf } from "../money/money-fixture.ts"
import { MoneyStage } from "./money-stage.ts"
import type { ProofRow } from "./row.ts"
import { runConcurrently } from "./run-concurrently.ts"

const ODD: Readonly<Record<string, readonly string[]>> = {
  "usage-missing": ["estimated"],
  "usage-zero": ["reported"],
  "usage-negative": ["suspect"],
  "usage-huge": ["suspect"],
  "usage-text": ["suspect"],
  "usage-twice": ["reported"],
  // In Gemini's words nothing but the end of the stream is its end.
  "usage-after-end": ["estimated", "reported"],
}

interface OddUsageCase {
  readonly words: string
  readonly client: ProtocolName
  readonly upstream: ProtocolName
  readonly stream: boolean
}

function cases(): OddUsageCase[] {
  return Object.keys(ODD).flatMap((words) =>
    PROTOCOLS.flatMap((client) =>
      PROTOCOLS.flatMap((upstream) =>
        (words === "usage-after-end" ? [true] : [false, true]).map((stream) => ({ words, client, upstream, stream })),
      ),
    ),
  )
}

export const oddUsage: ProofRow = {
  number: 4,
  title: "missing or odd usage",
  async run({ short, print }) {
    const stage = await MoneyStage.start()
    const all = cases().flatMap((each) => Array.from({ length: short ? 1 : 10 }, () => each))
    try {
      const { url, key } = stage.gateway
      // The thread that counts starts with the first that it is needed for.
      await sendRequest({
        url,
        key,
        protocol: "openai-chat",
        model: modelAt("openai-chat", "usage-missing"),
        stream: false,
      })
      const wrong = await runConcurrently(all, {
        atOnce: 8,
        act: async ({ words, client, upstream, stream }, at) => {
          const text = `Say ${20 + (at % 60)} words.`
          const request = { url, key, protocol: client, model: modelAt(upstream, words), stream, text }
          const { id, status } = await sendRequest(request)
          const receipt = await stage.receipt(id)
          const expected = words === "usage-zero" ? 0 : 3 + Math.max(20 + (at % 60), SHORTEST)
          const { input, output } = tokensOf(receipt?.cost ?? "-1")
          const isRight = status === 200 && input + output === expected
          const isMarked = ODD[words]?.includes(receipt?.facts.basis ?? "") === true
          if (!isRight || !isMarked) print(`${JSON.stringify(request)}: ${JSON.stringify(receipt)}`)
          return { isRight, isMarked }
        },
      })
      return [
        { what: "exchanges", seen: all.length, atLeast: short ? 200 : 2000 },
        {
          what: "charges that differ from the simulator's count",
          seen: wrong.filter(({ isRight }) => !isRight).length,
          atMost: 0,
        },
        {
          what: "marks that differ from the table",
          seen: wrong.filter(({ isMarked }) => !isMarked).length,
          atMost: 0,
        },
        { what: "problems in the ledger", seen: await stage.problems(), atMost: 0 },
      ]
    } finally {
      await stage.stop()
    }
  },
}

/** The simulator's text names itself, the prompt, and that no provider was called. */
const SHORTEST = 31
