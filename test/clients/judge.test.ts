import { describe, expect, test } from "bun:test"
import type { ClientObservation } from "./cell.ts"
import { problemsOf } from "./judge.ts"
import { thoughtOf } from "./scenario-host.ts"
import { type ClientScenario, scenarios } from "./scenarios.ts"

const HEAD = { library: "some library", version: "1", api: "anthropic", model: "a/model" } as const

function named(name: string): ClientScenario {
  const scenario = scenarios.find((each) => each.name === name)
  if (!scenario) throw new Error(`there is no scenario ${name}`)
  return scenario
}

/** The report of a faultless library for a scenario that does not fail. */
function faultless(scenario: ClientScenario): ClientObservation {
  const texts = scenario.steps.flatMap((step) => ("text" in step ? [step.text] : []))
  const last = texts.at(-1) ?? ""
  return {
    ...HEAD,
    scenario: scenario.name,
    texts,
    pieces: scenario.stream ? [last.slice(0, 5), last.slice(5)] : [],
    calls: scenario.steps.flatMap((step) => ("calls" in step ? step.calls : [])).toReversed(),
    ...(scenario.thinking && { reasoning: thoughtOf(scenario.steps.length - 1) }),
  }
}

const answered = scenarios.filter(({ failure }) => !failure)

describe("the judge of the client matrix", () => {
  test.each(answered)("the judge of the client matrix accepts a faultless $name", (scenario) => {
    expect(problemsOf(faultless(scenario), scenario)).toEqual([])
  })

  test.each(answered)("an error, another text and another call in $name are reported", (scenario) => {
    const seen = faultless(scenario)
    const error = { class: "APIError", expectedClass: "no error", message: "broken" }
    const call = { name: "get_weather", arguments: { city: "Oslo" } }
    for (const wrong of [{ error }, { texts: ["other"] }, { calls: [call] }]) {
      expect(problemsOf({ ...seen, ...wrong }, scenario)).toHaveLength(1)
    }
  })

  test("a stream that arrives whole, or whose pieces are not the answer, is reported", () => {
    const scenario = named("streamed text")
    const seen = faultless(scenario)
    expect(problemsOf({ ...seen, pieces: [seen.texts?.[0] ?? ""] }, scenario)).toHaveLength(1)
    expect(problemsOf({ ...seen, pieces: ["Hello, ", "nobody."] }, scenario)).toHaveLength(1)
  })

  test("missing thoughts are reported only if the library can show them", () => {
    const scenario = named("thinking")
    const { reasoning: _, ...seen } = faultless(scenario)
    expect(problemsOf({ ...seen, reasoning: "" }, scenario)).toHaveLength(1)
    expect(problemsOf(seen, scenario)).toEqual([])
  })

  test("a failure without an error, or with another class, status or message, is reported", () => {
    const scenario = named("wrong key")
    const expectedClass = "AuthenticationError"
    const error = { class: expectedClass, expectedClass, status: 401, message: "Unknown API key." }
    const seen = { ...HEAD, scenario: scenario.name }
    expect(problemsOf({ ...seen, error }, scenario)).toEqual([])
    expect(problemsOf(seen, scenario)).toHaveLength(1)
    for (const wrong of [{ class: "TypeError" }, { status: 400 }, { message: "Unauthorized" }]) {
      expect(problemsOf({ ...seen, error: { ...error, ...wrong } }, scenario)).toHaveLength(1)
    }
  })
})
