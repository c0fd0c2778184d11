import { describe, expect, test } from "bun:test"
import type { Pricing } from "../../canonical/model.ts"
import type { CatalogModel } from "../../catalog/catalog.ts"
import { model } from "../../catalog/model.fixture.ts"
import type { OutputLimits } from "../../protocols/contract.ts"
import type { Target } from "../../routing/route-plan.ts"
import type { ReadRequest } from "../read-request.ts"
import { LimitOverruns } from "./limit-overruns.ts"
import { computeExtension, computeHold } from "./request-hold.ts"

const overruns = new LimitOverruns()

/** One nano-USD per output token, and free input. */
const OUTPUT_ALONE: Pricing = { input: "0", output: "0.001" }

const target = (pricing: Pricing | undefined, rest: Partial<CatalogModel> = {}) =>
  ({ model: model("a/b", { maxOutputTokens: 100_000, ...rest }), pricing }) as unknown as Target

interface HoldScenario {
  readonly outputLimits?: OutputLimits
  readonly stream?: boolean
  readonly targets?: readonly Target[]
  readonly strictBalance?: boolean
}

function held({ outputLimits = { candidates: 1 }, stream = false, targets, strictBalance = false }: HoldScenario) {
  const request = { text: "{}", reading: { outputLimits, stream } } as unknown as ReadRequest
  return computeHold(request, targets ?? [target(OUTPUT_ALONE)], { caller: { strictBalance }, overruns })
}

describe("the hold", () => {
  test.each<[string, HoldScenario, bigint]>([
    ["the limit for a whole answer", { outputLimits: { maxOutputTokens: 9000, candidates: 1 } }, 9000n],
    ["the sum of the limits for several answers", { outputLimits: { maxOutputTokens: 9000, candidates: 3 } }, 27_000n],
    ["the usual output without a limit", {}, 4096n],
    ["the model's maximum if that is less", { targets: [target(OUTPUT_ALONE, { maxOutputTokens: 50 })] }, 50n],
    ["the first step for a stream", { stream: true, outputLimits: { maxOutputTokens: 9000, candidates: 1 } }, 2048n],
    [
      "the sum of the first steps for several streamed candidates",
      { stream: true, outputLimits: { candidates: 2 } },
      4096n,
    ],
    ["the limit for a short stream", { stream: true, outputLimits: { maxOutputTokens: 5, candidates: 1 } }, 5n],
    [
      "the whole limit for a stream of a key with a strict balance",
      { stream: true, strictBalance: true, outputLimits: { maxOutputTokens: 9000, candidates: 1 } },
      9000n,
    ],
    ["the model's maximum for a strict balance without a limit", { stream: true, strictBalance: true }, 100_000n],
    ["no output for embeddings", { targets: [target(OUTPUT_ALONE, { kind: "embedding" })] }, 0n],
    [
      "the sum of the prices for several images",
      { outputLimits: { candidates: 2 }, targets: [target({ perImage: "0.000000007" }, { kind: "image" })] },
      14n,
    ],
    [
      "that of the most expensive target",
      { targets: [target(OUTPUT_ALONE), target({ input: "0", output: "0.002" })] },
      8192n,
    ],
  ])("the hold is %s", (_, request, nano) => {
    expect(held(request).nano).toBe(nano)
  })

  test("the hold stays within its bounds for any requested limit", () => {
    for (const outputLimits of [
      { maxOutputTokens: 1e300, candidates: 1 },
      { maxOutputTokens: Number.MAX_SAFE_INTEGER, candidates: Number.MAX_SAFE_INTEGER },
      { candidates: 1e300 },
    ]) {
      for (const stream of [false, true]) {
        const { nano, likelyTokens } = held({
          outputLimits,
          stream,
          targets: [target({ input: "9999", output: "9999" })],
        })
        expect(nano > 0n && nano <= 10n ** 18n).toBe(true)
        expect(Number.isSafeInteger(likelyTokens)).toBe(true)
      }
    }
  })

  test("targets without a price are not called, and a model without a priced target is rejected", () => {
    const priced = target(OUTPUT_ALONE)
    expect(held({ targets: [target(undefined), priced, target({ input: "1" })] }).targets).toEqual([priced])
    expect(() => held({ targets: [target(undefined)] })).toThrow(
      expect.objectContaining({ code: "model_not_priced", param: "model" }),
    )
  })

  test("the hold of a stream grows with it, up to its limit", () => {
    const hold = held({ stream: true, outputLimits: { maxOutputTokens: 5000, candidates: 1 } })
    const at = (length: number, heldOutput: number) =>
      computeExtension(hold, { target: target(OUTPUT_ALONE), length, leastOutput: length / 16, heldOutput })
    expect(at(2000, 2048)).toBeUndefined()
    expect(at(3000, 2048)).toEqual({ nano: 2048n, outputTokens: 2048, isDue: false })
    expect(at(5120, 2048)).toEqual({ nano: 2048n, outputTokens: 2048, isDue: true })
    expect(at(9000, 4096)).toEqual({ nano: 904n, outputTokens: 904, isDue: false })
    expect(at(50_000, 5000)).toBeUndefined()
  })

  test("the hold of a stream grows beyond its limit if the host exceeds it", () => {
    const hold = held({ stream: true, outputLimits: { maxOutputTokens: 1, candidates: 1 } })
    const at = (length: number, heldOutput: number, leastOutput = length / 16) =>
      computeExtension(hold, { target: target(OUTPUT_ALONE), length, leastOutput, heldOutput })
    expect(at(16, 1)).toBeUndefined()
    expect(at(1024, 1)).toEqual({ nano: 2048n, outputTokens: 2048, isDue: true })
    expect(at(80_000, 1)).toEqual({ nano: 33_023n, outputTokens: 33_023, isDue: true })
    expect(at(0, 1, 9000)).toEqual({ nano: 10_023n, outputTokens: 10_023, isDue: true })
  })

  test("the hold covers the model's whole output once its host has exceeded a limit", () => {
    const known = new LimitOverruns()
    const account = { id: "loose" }
    const loose = { ...target(OUTPUT_ALONE), account, upstreamModel: "m" } as unknown as Target
    const other = { ...loose, upstreamModel: "n" }
    const hold = (at: Target, stream: boolean) => {
      const request = { text: "{}", reading: { outputLimits: { maxOutputTokens: 10, candidates: 2 }, stream } }
      const options = { caller: { strictBalance: false }, overruns: known }
      return computeHold(request as unknown as ReadRequest, [at], options).nano
    }
    known.note(loose, { output: 20, limit: 20 })
    known.note(loose, { output: 40, limit: 20 })
    expect(hold(loose, true)).toBe(20n)
    known.note(loose, { output: 300, limit: 20 })
    expect([hold(loose, false), hold(loose, true), hold(other, false)]).toEqual([200_000n, 200_000n, 20n])
  })
})
