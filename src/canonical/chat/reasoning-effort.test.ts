import { expect, test } from "bun:test"
import { budgetOf, EFFORT_BUDGETS, effortOf, nearestEffort } from "./reasoning-effort.ts"

test("a word and its worth are each other's counterpart", () => {
  for (const [effort, budgetTokens] of EFFORT_BUDGETS) {
    expect(budgetOf(effort)).toBe(budgetTokens)
    expect(effortOf(budgetTokens)).toBe(effort)
  }
})

test("a number between two words is the nearer one's, and one beyond all is the last one's", () => {
  expect(effortOf(4000)).toBe("low")
  expect(effortOf(7000)).toBe("medium")
  expect(effortOf(1_000_000)).toBe("max")
})

test("a word that a protocol lacks becomes the nearest it has", () => {
  expect(nearestEffort("max", ["low", "medium", "high"])).toBe("high")
  expect(nearestEffort("minimal", ["low", "medium", "high"])).toBe("low")
  expect(nearestEffort("none", ["none", "low"])).toBe("none")
})
