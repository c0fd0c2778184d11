import { expect, test } from "bun:test"
import { RotationCounter } from "./rotation-counter.ts"
import { modelOf, StagedTable } from "./route-plan.fixture.ts"

test("each model has its own rotation, so that weights hold for each in any mix of requests", () => {
  const rows = { heavy: { weight: 2 }, light: { weight: 1 } }
  const stage = new StagedTable({ models: [modelOf("m", rows), modelOf("n", rows)] })
  const rotation = new RotationCounter()
  const first = (model: string) => stage.order(model, { rotation: rotation.next(model) })[0]
  const seen = Array.from({ length: 6 }, () => ({ m: first("m"), n: [first("n"), first("n")] }))
  expect(seen.filter(({ m }) => m === "m@heavy")).toHaveLength(4)
  expect(seen.flatMap(({ n }) => n).filter((name) => name === "n@heavy")).toHaveLength(8)
})

test("the rotation counter is bounded for any number of models", () => {
  const rotation = new RotationCounter()
  for (let each = 0; each < 10_000; each++) rotation.next(`m${each}`)
  expect(rotation.next("m0")).toBe(1)
  rotation.next("one more")
  expect(rotation.next("m0")).toBe(0)
})
