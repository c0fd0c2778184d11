// Streams that outgrow their hold: they continue while more can be held, and otherwise end with their error frame.
import { type MoneyAnswer, sendRequest } from "../money/client.ts"
import { FUNDING_KINDS, FundingSource, holdNano } from "./funding-sources.ts"
import { MODEL, OUTPUT_NANO, type RaceStage, WORTH } from "./overspend-race.ts"

/** The most output there can be, of which a stream holds the first step, and then more as it grows. */
export const MOST_OUTPUT = 6000
const FIRST_STEP = 2048
/** A text so long that all the output there can be has to be held for it. */
const LONG_ANSWER = { outputTokens: 3000, pieces: 40 }

export interface StreamGrowth {
  /** Streams that ended otherwise than their remaining funds require. */
  wrong: number
  cut: number
  readonly fundings: FundingSource[]
}

/** One stream at a time: with just enough for all of it, and with a nano-USD less. */
export async function growingAlone(stage: RaceStage): Promise<StreamGrowth> {
  const { gateway, host } = stage
  const growth: StreamGrowth = { wrong: 0, cut: 0, fundings: [] }
  host.open(LONG_ANSWER)
  for (const kind of FUNDING_KINDS) {
    const hold = await holdNano(gateway, { kind, model: MODEL, stream: true })
    // A strict balance holds all of it at once.
    const needed = kind.strict ? hold : hold + OUTPUT_NANO * BigInt(MOST_OUTPUT - FIRST_STEP)
    for (const missing of kind.strict ? [0n] : [0n, 1n]) {
      const funding = await FundingSource.open(gateway, kind, needed - missing)
      const end = endOf(await streamOf(stage, funding))
      growth.fundings.push(funding)
      if (end !== (missing === 0n ? "whole" : "cut")) growth.wrong++
      if (end === "cut") growth.cut++
    }
  }
  return growth
}

/** As many concurrent streams as can start, all of which need more than the funds. */
export async function growingTogether(stage: RaceStage): Promise<StreamGrowth> {
  const { gateway, host } = stage
  const growth: StreamGrowth = { wrong: 0, cut: 0, fundings: [] }
  host.open(LONG_ANSWER)
  for (const kind of FUNDING_KINDS.filter(({ strict }) => !strict)) {
    const hold = await holdNano(gateway, { kind, model: MODEL, stream: true })
    const funding = await FundingSource.open(gateway, kind, WORTH * hold + hold / 2n)
    growth.fundings.push(funding)
    const streams = Array.from({ length: Number(WORTH) }, (_, turn) => streamOf(stage, funding, turn))
    const ends = (await Promise.all(streams)).map(endOf)
    growth.wrong += ends.filter((end) => end === "neither").length
    growth.cut += ends.filter((end) => end === "cut").length
  }
  return growth
}

function streamOf({ gateway }: RaceStage, funding: FundingSource, turn = 0): Promise<MoneyAnswer> {
  return sendRequest({ url: gateway.url, key: funding.key(turn), protocol: "openai-chat", model: MODEL, stream: true })
}

function endOf({ status, text }: MoneyAnswer): "whole" | "cut" | "neither" {
  const isWhole = text.includes("data: [DONE]")
  const isCut = /^data: \{"error":.*"code":"(insufficient_balance|budget_exceeded)"/m.test(text)
  if (status !== 200 || isWhole === isCut) return "neither"
  return isWhole ? "whole" : "cut"
}
