import { expect, test } from "bun:test"
import { budgetOf, EFFORT_BUDGETS, effortOf, nearestEffort } from "./reasoning-effort.ts"

test("an effort and its budget convert into each other", () => {
  for (const [effort, budgetTokens] of EFFORT_BUDGETS) {
    expect(budgetOf(effort)).toBe(budgetTokens)
    expect(effortOf(budgetTokens)).toBe(effort)
  }
})

test("a budget between two efforts maps to the nearer one, and one above all to the highest", () => {
  expect(effortOf(4000)).toBe("low")
  expect(effortOf(7000)).toBe("medium")
  expect(effortOf(1_000_000)).toBe("max")
})

test("an effort that a protocol lacks maps to the nearest it has", () => {
  expect(nearestEffort("max", ["low", "medium", "high"])).toBe("high")
  expect(nearestEffort("minimal", ["low", "medium", "high"])).toBe("low")
  expect(nearestEffort("none", ["none", "low"])).toBe("none")
})
