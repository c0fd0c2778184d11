import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { MetricRegistry } from "../../src/telemetry/metric-registry.ts"
import { parseExposition, sampleOf, valueAt } from "./exposition.ts"

/** Values made of what the format has to escape, of line ends of every kind, and of halves of characters. */
const hostile = fc.oneof(
  fc.string({
    unit: fc.constantFrom("\\", '"', "\n", "\r", "{", "}", ",", "=", " ", "a", "n", "#", "é", "\u2028", "\0"),
  }),
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("\ud800", "\udc00", "x") }),
)

describe("the text format", () => {
  test("the text format describes each metric once, before its samples", () => {
    const registry = new MetricRegistry()
    registry
      .counter("trivium_things_total", { help: "Things\nand \\ more.", labels: ["kind"] })
      .with({ kind: "a" })
      .add(2)
    registry.callback("trivium_now", "Now.", () => 1.5)
    expect(registry.write()).toBe(
      "# HELP trivium_metric_series_folded_total " +
        "Label sets beyond a metric's limit, counted under `other`.\n" +
        "# TYPE trivium_metric_series_folded_total counter\n" +
        "# HELP trivium_things_total Things\\nand \\\\ more.\n" +
        "# TYPE trivium_things_total counter\n" +
        'trivium_things_total{kind="a"} 2\n' +
        "# HELP trivium_now Now.\n" +
        "# TYPE trivium_now gauge\n" +
        "trivium_now 1.5\n",
    )
  })

  test("a strict parser reads back every label value and count, for any values", () => {
    const pairs = fc.array(fc.tuple(hostile, hostile, fc.nat(1000)), { maxLength: 30 })
    fc.assert(
      fc.property(pairs, (added) => {
        const registry = new MetricRegistry()
        const metric = registry.counter("trivium_x_total", { help: "x", labels: ["one", "two"] })
        const expected = new Map<string, number>()
        for (const [one, two, count] of added) {
          metric.with({ one, two }).add(count)
          const key = JSON.stringify([one.toWellFormed(), two.toWellFormed()])
          expected.set(key, (expected.get(key) ?? 0) + count)
        }
        // The output is bytes, and two texts may be the same bytes.
        const text = Buffer.from(registry.write()).toString()
        const samples = parseExposition(text).get("trivium_x_total")?.samples ?? []
        const read = samples.map(({ labels: { one, two }, value }) => [JSON.stringify([one, two]), value] as const)
        expect(new Map(read)).toEqual(expected)
        expect(samples).toHaveLength(expected.size)
      }),
      { numRuns: 500 },
    )
  })

  test("a histogram's buckets are cumulative and hold every observation, for any values", () => {
    const bounds = fc.uniqueArray(fc.double({ min: 0.001, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 10 })
    fc.assert(
      fc.property(bounds, fc.array(fc.double()), (unsorted, values) => {
        const sorted = unsorted.sort((one, other) => one - other)
        const registry = new MetricRegistry()
        const histogram = registry.histogram("trivium_x_seconds", { help: "x", bounds: sorted }).with({})
        for (const value of values) histogram.observe(value)
        const families = parseExposition(registry.write())
        const counted = values.filter((value) => value >= 0 && Number.isFinite(value))
        expect(valueAt(families, "trivium_x_seconds_count")).toBe(counted.length)
        for (const le of sorted) {
          const under = counted.filter((value) => value <= le).length
          expect(valueAt(families, "trivium_x_seconds_bucket", { le: String(le) })).toBe(under)
        }
      }),
    )
  })

  test("the parser in these tests rejects malformed text", () => {
    const head = "# HELP trivium_a_total a\n# TYPE trivium_a_total counter\n"
    const histogram = "# HELP h h\n# TYPE h histogram\n"
    const unsound = [
      `${head}trivium_a_total 1`,
      "trivium_a_total 1\n",
      `${head}${head}trivium_a_total 1\n`,
      `${head}trivium_a_total 1\ntrivium_a_total 2\n`,
      `${head}trivium_a_total{x="\\t"} 1\n`,
      `${head}trivium_a_total{x="a",x="b"} 1\n`,
      `${head}trivium_a_total{x="a} 1\n`,
      `${head}trivium_a_total one\n`,
      `${head}trivium_a_total -1\n`,
      `${histogram}h_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n`,
      `${histogram}h_bucket{le="1"} 1\nh_sum 1\nh_count 1\n`,
      `${histogram}h_bucket{le="+Inf"} 2\nh_sum 1\nh_count 1\n`,
    ]
    for (const text of unsound) expect(() => parseExposition(text)).toThrow()
    expect(() => parseExposition(`${head}trivium_a_total{x="\\\\\\"\\n"} 1e+21\n`)).not.toThrow()
  })
})

describe("series", () => {
  test("new label sets beyond the limit are counted as `other`, and their number is reported", () => {
    const registry = new MetricRegistry({ maxSeries: 3 })
    const metric = registry.counter("trivium_x_total", { help: "x", labels: ["name"] })
    for (let turn = 0; turn < 10; turn++) metric.with({ name: `n${turn}` }).add()
    metric.with({ name: "n0" }).add()
    const families = parseExposition(registry.write())
    expect(families.get("trivium_x_total")?.samples.map(({ labels, value }) => [labels.name, value])).toEqual([
      ["n0", 2],
      ["n1", 1],
      ["n2", 1],
      ["other", 7],
    ])
    expect(valueAt(families, "trivium_metric_series_folded_total", { metric: "trivium_x_total" })).toBe(7)
  })

  test("a counter neither falls nor becomes NaN or infinite", () => {
    const registry = new MetricRegistry()
    const counter = registry.counter("trivium_x_total", { help: "x" }).with({})
    for (const amount of [5, -3, Number.NaN, Number.POSITIVE_INFINITY]) counter.add(amount)
    expect(valueAt(parseExposition(registry.write()), "trivium_x_total")).toBe(5)
  })

  test("nano amounts are exact to the last digit", () => {
    const add = (amounts: readonly bigint[]) => {
      const registry = new MetricRegistry()
      const counter = registry.nanoCounter("trivium_usd_total", { help: "x" }).with({})
      for (const amount of amounts) counter.add(amount)
      return sampleOf(parseExposition(registry.write()), "trivium_usd_total")?.text
    }
    expect(add([])).toBe("0")
    expect(add([1n])).toBe("0.000000001")
    expect(add([1_500_000_000n])).toBe("1.5")
    expect(add([9_007_199_254_740_993n, 1_000_000_000_000_000_000_000_000_000n])).toBe("1000000000009007199.254740993")
    expect(add([7n, -7n])).toBe("0.000000007")
  })

  test("names and labels are checked when a metric is declared", () => {
    const registry = new MetricRegistry()
    registry.counter("trivium_x_total", { help: "x" })
    expect(() => registry.gauge("trivium_x_total", { help: "x" })).toThrow("twice")
    expect(() => registry.gauge("Other-Name", { help: "x" })).toThrow("no name")
    expect(() => registry.gauge("trivium_y", { help: "x", labels: ["le"] })).toThrow("no label")
  })
})
