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

/** A nano-USD for each token of output, and input for nothing. */
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

describe("what is held", () => {
  test.each<[string, HoldScenario, bigint]>([
    ["of a whole answer, the limit", { outputLimits: { maxOutputTokens: 9000, candidates: 1 } }, 9000n],
    ["of several answers, each one's", { outputLimits: { maxOutputTokens: 9000, candidates: 3 } }, 27_000n],
    ["without a limit, what most answers have", {}, 4096n],
    ["or what the model has, if less", { targets: [target(OUTPUT_ALONE, { maxOutputTokens: 50 })] }, 50n],
    ["of a stream, the first step", { stream: true, outputLimits: { maxOutputTokens: 9000, candidates: 1 } }, 2048n],
    ["of several streams, each one's", { stream: true, outputLimits: { candidates: 2 } }, 4096n],
    ["of a short stream, its limit", { stream: true, outputLimits: { maxOutputTokens: 5, candidates: 1 } }, 5n],
    [
      "of a stream of a key that never owes, all of it",
      { stream: true, strictBalance: true, outputLimits: { maxOutputTokens: 9000, candidates: 1 } },
      9000n,
    ],
    ["of one that sets no limit either, the model's", { stream: true, strictBalance: true }, 100_000n],
    ["of vectors, no output", { targets: [target(OUTPUT_ALONE, { kind: "embedding" })] }, 0n],
    [
      "of images, each one's",
      { outputLimits: { candidates: 2 }, targets: [target({ perImage: "0.000000007" }, { kind: "image" })] },
      14n,
    ],
    [
      "of several targets, the dearest's",
      { targets: [target(OUTPUT_ALONE), target({ input: "0", output: "0.002" })] },
      8192n,
    ],
  ])("what is held is %s", (_, request, nano) => {
    expect(held(request).nano).toBe(nano)
  })

  test("what is held is within what can be held, whatever is asked for", () => {
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

  test("targets without a price are not called, and a model that has none else is refused", () => {
    const priced = target(OUTPUT_ALONE)
    expect(held({ targets: [target(undefined), priced, target({ input: "1" })] }).targets).toEqual([priced])
    expect(() => held({ targets: [target(undefined)] })).toThrow(
      expect.objectContaining({ code: "model_not_priced", param: "model" }),
    )
  })

  test("a stream's grows with it, up to its limit", () => {
    const hold = held({ stream: true, outputLimits: { maxOutputTokens: 5000, candidates: 1 } })
    const at = (length: number, heldOutput: number) =>
      computeExtension(hold, { target: target(OUTPUT_ALONE), length, leastOutput: length / 16, heldOutput })
    expect(at(2000, 2048)).toBeUndefined()
    expect(at(3000, 2048)).toEqual({ nano: 2048n, outputTokens: 2048, isDue: false })
    expect(at(5120, 2048)).toEqual({ nano: 2048n, outputTokens: 2048, isDue: true })
    expect(at(9000, 4096)).toEqual({ nano: 904n, outputTokens: 904, isDue: false })
    expect(at(50_000, 5000)).toBeUndefined()
  })

  test("a stream's grows beyond its limit with what a host delivers that does not keep to it", () => {
    const hold = held({ stream: true, outputLimits: { maxOutputTokens: 1, candidates: 1 } })
    const at = (length: number, heldOutput: number, leastOutput = length / 16) =>
      computeExtension(hold, { target: target(OUTPUT_ALONE), length, leastOutput, heldOutput })
    expect(at(16, 1)).toBeUndefined()
    expect(at(1024, 1)).toEqual({ nano: 2048n, outputTokens: 2048, isDue: true })
    expect(at(80_000, 1)).toEqual({ nano: 33_023n, outputTokens: 33_023, isDue: true })
    expect(at(0, 1, 9000)).toEqual({ nano: 10_023n, outputTokens: 10_023, isDue: true })
  })

  test("what is held is all that the model can put out, once its host was seen to exceed a limit", () => {
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
