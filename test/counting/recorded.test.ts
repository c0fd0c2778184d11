// The local token count against the vendors' counts, over the evaluation set of recorded exchanges.
import { describe, expect } from "bun:test"
import { recorded } from "../recordings/recorded.ts"
import { type RecordedInput, recordedInputs } from "./recorded-input.ts"

const LONG = 200
const inputs = recordedInputs()
const errorOf = ({ estimated, reported }: RecordedInput) => Math.abs(estimated - reported) / reported

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** The numbers for OpenAI's text and turns are those the vendor publishes, so that all recordings may judge them. */
function isOpenAiText({ modelId, isPlain, isWhole, reported }: RecordedInput): boolean {
  return (
    modelId.startsWith("openai/") && !modelId.startsWith("openai/gpt-oss") && isPlain && isWhole && reported >= LONG
  )
}

describe("a local count", () => {
  recorded("a local count of text for an OpenAI model is within 2 % of the reported one", () => {
    const judged = inputs.filter(isOpenAiText)
    expect(judged.length).toBeGreaterThanOrEqual(10)
    expect(judged.filter((input) => errorOf(input) > 0.02)).toEqual([])
  })

  recorded("a local count of any other input is off by at most 15 % in the median", () => {
    const judged = inputs.filter((input) => input.isJudged && input.isWhole && !isOpenAiText(input))
    expect(judged.length).toBeGreaterThanOrEqual(100)
    expect(median(judged.map(errorOf))).toBeLessThanOrEqual(0.15)
  })

  recorded("most recordings can be counted from their request", () => {
    const without = inputs.filter(({ isWhole }) => !isWhole)
    expect(without.length / inputs.length).toBeLessThan(0.3)
  })
})
