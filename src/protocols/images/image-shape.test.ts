import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { Loss } from "../../canonical/loss.ts"
import { type SupportedShapes, shapeOf } from "./image-shape.ts"

const shapes: SupportedShapes = { ratios: ["1:1", "3:2", "2:3", "16:9"], resolutions: ["1K", "2K"] }

function shaped(width: number, height: number, of = shapes) {
  const losses: Loss[] = []
  return { ...shapeOf({ width, height }, of, losses), weights: losses.map(({ weight }) => weight) }
}

describe("mapping a size to a shape", () => {
  test.each([
    [1024, 1024, { ratio: "1:1", resolution: "1K", weights: [] }],
    [2048, 2048, { ratio: "1:1", resolution: "2K", weights: [] }],
    [512, 512, { ratio: "1:1", resolution: "1K", weights: ["hint"] }],
    [4096, 4096, { ratio: "1:1", resolution: "2K", weights: ["hint"] }],
    [1536, 1024, { ratio: "3:2", resolution: "1K", weights: ["hint"] }],
    [1792, 1024, { ratio: "16:9", resolution: "2K", weights: ["hint"] }],
    [1024, 1792, { ratio: "2:3", resolution: "2K", weights: ["meaning"] }],
  ] as const)("%d by %d maps to the nearest shape, and the difference is reported", (width, height, expected) => {
    expect(shaped(width, height)).toEqual({ ...expected, weights: [...expected.weights] })
  })

  test("no other shape is nearer", () => {
    const side = fc.integer({ min: 1, max: 99_999 })
    const logarithm = (ratio: string) => {
      const [width = 1, height = 1] = ratio.split(":").map(Number)
      return Math.log(width / height)
    }
    fc.assert(
      fc.property(side, side, (width, height) => {
        const off = (ratio: string) => Math.abs(Math.log(width / height) - logarithm(ratio))
        const chosen = off(shaped(width, height).ratio)
        for (const other of shapes.ratios) expect(chosen).toBeLessThanOrEqual(off(other))
      }),
    )
  })
})
