// Compares a driver's report of one cell with its scenario.
import { isDeepStrictEqual } from "node:util"
import type { ClientObservation } from "./cell.ts"
import { thoughtOf } from "./scenario-host.ts"
import type { ClientScenario, ExpectedFailure } from "./scenarios.ts"

export function problemsOf(seen: ClientObservation, scenario: ClientScenario): string[] {
  const { failure } = scenario
  if (failure) return failureProblems(seen, { failure, scenario })
  if (seen.error) return [`raised ${seen.error.class} ${seen.error.status ?? ""}: ${seen.error.message}`]
  return [...textProblems(seen, scenario), ...callProblems(seen, scenario), ...thoughtProblems(seen, scenario)]
}

function failureProblems(
  { error, api, pieces = [] }: ClientObservation,
  { failure, scenario }: { failure: ExpectedFailure; scenario: ClientScenario },
): string[] {
  if (!error) return ["raised no error"]
  const status = failure.status?.[api]
  const begun = scenario.steps.length > 0
  return [
    ...(error.class === error.expectedClass ? [] : [`raised ${error.class} instead of ${error.expectedClass}`]),
    ...(status === undefined || error.status === undefined || error.status === status
      ? []
      : [`the error's status is ${error.status} instead of ${status}`]),
    ...(error.message.includes(failure.message)
      ? []
      : [`the error's message lacks “${failure.message}”: ${error.message}`]),
    ...(error.message === "" ? ["the error has no message"] : []),
    ...(begun && pieces.length === 0 ? ["nothing of the stream arrived before the error"] : []),
  ]
}

function textProblems({ texts = [], pieces = [] }: ClientObservation, { steps, stream }: ClientScenario): string[] {
  const expected = steps.flatMap((step) => ("text" in step ? [step.text] : []))
  const last = expected.at(-1) ?? ""
  return [
    ...(isDeepStrictEqual(texts, expected)
      ? []
      : [`answered ${JSON.stringify(texts)} instead of ${JSON.stringify(expected)}`]),
    ...(stream && pieces.length < 2 ? [`the answer came in ${pieces.length} pieces`] : []),
    ...(stream && pieces.join("") !== last ? [`the pieces are ${JSON.stringify(pieces.join(""))}`] : []),
  ]
}

/** Calls of one step may be run in any order. */
function callProblems({ calls = [] }: ClientObservation, { steps }: ClientScenario): string[] {
  const sorted = (list: readonly unknown[]) => list.map((each) => JSON.stringify(each)).sort()
  const expected = steps.flatMap((step) => ("calls" in step ? step.calls : []))
  const isSame = isDeepStrictEqual(sorted(calls), sorted(expected))
  return isSame ? [] : [`called ${JSON.stringify(calls)} instead of ${JSON.stringify(expected)}`]
}

function thoughtProblems({ reasoning }: ClientObservation, { thinking, steps }: ClientScenario): string[] {
  const thought = thoughtOf(steps.length - 1)
  if (!thinking || reasoning === undefined || reasoning.includes(thought)) return []
  return [`the thoughts lack “${thought}”: ${JSON.stringify(reasoning)}`]
}
