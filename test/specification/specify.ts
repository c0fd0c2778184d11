// Tests that begin with the id of a requirement, and the check that every requirement of a file has one.
import { expect, test } from "bun:test"
import { type LineId, TABLES, WAITING } from "./lines.ts"

const specified = new Set<string>()

/** A test of one line. */
export function specify(id: LineId, sentence: string, check: () => void | Promise<void>): void {
  specified.add(id)
  const waitsFor = WAITING[id]
  if (waitsFor === undefined) test(`${id}: ${sentence}`, check)
  else test.skip(`${id}: ${sentence} (waits for ${waitsFor})`, check)
}

/** Runs `specify` once per case; the sentence is made from the case. */
export function specifyEach<Case>(
  id: LineId,
  cases: readonly Case[],
  each: { sentence: (one: Case) => string; check: (one: Case) => void | Promise<void> },
): void {
  for (const one of cases) specify(id, each.sentence(one), () => each.check(one))
}

/** Must be the last call in every file of this folder. */
export function nothingForgotten(suite: string): void {
  test(`every requirement of ${suite} has a test in this file, and no test is for another`, () => {
    const own = TABLES.filter((table) => table.suite === suite).flatMap(({ lines }) => Object.keys(lines))
    expect([...specified].sort()).toEqual(own.sort())
  })
}
