import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { totalTokens, type Usage } from "../../canonical/usage.ts"
import { model } from "../../catalog/model.fixture.ts"
import type { RequestSummary } from "../../protocols/contract.ts"
import type { Target } from "../../routing/route-plan.ts"
import { acceptReported, countMissing, type ReportedUsage } from "./measured-usage.ts"

const window = 1000
const target = (kind: "chat" | "embedding" | "image" = "chat") =>
  ({ model: model("a/b", { kind, contextWindow: window }) }) as unknown as Target

const count = { input: 40, output: 7 }

/** The measured usage, with `count` as the local count, and the parts that were counted. */
async function spent(
  reported: Partial<ReportedUsage>,
  {
    kind,
    candidates = 1,
    ...more
  }: { kind?: "embedding" | "image"; candidates?: number } & Partial<RequestSummary> = {},
) {
  const counts: string[] = []
  const counted = {
    input: async () => counts.push("input") && count.input,
    output: async () => counts.push("output") && count.output,
  }
  const report = { usage: undefined, isAll: true, ...reported }
  const reading = { outputLimits: { candidates }, ...more }
  const context = { target: target(kind), reading, counted }
  const made = acceptReported(report, context) ?? (await countMissing(report, context))
  return { ...made, counted: counts }
}

describe("usage", () => {
  test("reported usage is accepted, zero included, and nothing is counted locally", async () => {
    for (const usage of [
      { input: 9, cacheRead: 3, output: 4, reasoning: 2 },
      { input: 0, output: 0 },
    ]) {
      expect(await spent({ usage })).toEqual({ usage, basis: "reported", counted: [] })
    }
  })

  test("missing usage is counted locally", async () => {
    expect(await spent({})).toEqual({
      usage: { input: 40, output: 7 },
      basis: "estimated",
      counted: ["input", "output"],
    })
  })

  test("only the missing part of a reported usage is counted locally", async () => {
    expect(await spent({ usage: { input: 9, cacheRead: 1 } })).toMatchObject({
      usage: { input: 9, cacheRead: 1, output: 7 },
      basis: "estimated",
      counted: ["output"],
    })
    expect(await spent({ usage: { output: 5 } })).toMatchObject({ usage: { input: 40, output: 5 }, basis: "estimated" })
  })

  test("usage reported before the answer ended is raised to the local count", async () => {
    expect(await spent({ usage: { input: 9, output: 1 }, isAll: false })).toMatchObject({
      usage: { input: 9, output: 7 },
    })
    expect(await spent({ usage: { input: 9, output: 50 }, isAll: false })).toMatchObject({
      usage: { input: 9, output: 50 },
    })
  })

  test("a usage report without any count is counted locally and marked suspect", async () => {
    expect(await spent({ usage: {} })).toMatchObject({ usage: { input: 40, output: 7 }, basis: "suspect" })
  })

  test("usage beyond the context window is counted locally and marked suspect", async () => {
    expect(await spent({ usage: { input: 1e12, output: 4 } })).toEqual({
      ...{ usage: { input: 40, output: 4 }, basis: "suspect", counted: ["input"] },
    })
    expect(await spent({ usage: { cacheRead: 600, input: 600, output: 2001 } }, { candidates: 2 })).toMatchObject({
      ...{ usage: { input: 40, output: 7 }, basis: "suspect" },
    })
    expect(await spent({ usage: { input: 1000, output: 2000 } }, { candidates: 2 })).toMatchObject({
      basis: "reported",
    })
  })

  test("usage of a batch of texts is bounded by the sum of their windows", async () => {
    const embeds = { inputs: 60, hasTokens: false }
    expect(await spent({ usage: { input: 60_000 } }, { kind: "embedding", embeds })).toEqual({
      ...{ usage: { input: 60_000 }, basis: "reported", counted: [] },
    })
    expect(await spent({ usage: { input: 60_001 } }, { kind: "embedding", embeds })).toMatchObject({ basis: "suspect" })
  })

  test("usage beyond the window is charged as reported and marked if the provider runs tools of its own", async () => {
    const usage = { input: 42_000, output: 5 }
    expect(await spent({ usage }, { runsTools: true })).toEqual({
      ...{ usage, exceedsWindow: true, basis: "reported", counted: [] },
    })
    expect(await spent({ usage: { input: 1e12, output: 5 } }, { runsTools: true })).toMatchObject({ basis: "suspect" })
    expect(await spent({ usage: { input: 1000, output: 5 } }, { runsTools: true })).not.toHaveProperty("exceedsWindow")
  })

  test("usage of embeddings has no output, and usage of images counts the images", async () => {
    expect(await spent({ usage: { input: 9 } }, { kind: "embedding" })).toMatchObject({
      usage: { input: 9 },
      basis: "reported",
    })
    expect(await spent({}, { kind: "embedding" })).toMatchObject({
      usage: { input: 40 },
      basis: "estimated",
      counted: ["input"],
    })
    expect(await spent({ images: 2 }, { kind: "image" })).toMatchObject({
      images: 2,
      basis: "estimated",
      usage: { input: 40 },
    })
    expect(await spent({ usage: { input: 5, imageOutput: 90 }, images: 1 }, { kind: "image" })).toMatchObject({
      ...{ images: 1, basis: "reported", usage: { input: 5, imageOutput: 90 } },
    })
  })

  test("for any reported usage the charge is bounded and every count is a safe integer", async () => {
    const some = fc.oneof(fc.nat(3000), fc.constant(Number.MAX_SAFE_INTEGER))
    const usages = fc.record(
      { input: some, cacheRead: some, cacheWrite: some, output: some, reasoning: some },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(usages, fc.boolean(), async (usage, isAll) => {
        const made = await spent({ usage: usage as Usage, isAll })
        expect(totalTokens(made.usage)).toBeLessThanOrEqual(2 * window)
        for (const each of Object.values(made.usage)) expect(Number.isSafeInteger(each) && each >= 0).toBe(true)
      }),
    )
  })
})
