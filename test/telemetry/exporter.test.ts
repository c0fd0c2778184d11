import { afterEach, describe, expect, test } from "bun:test"
import { type ExporterOptions, OtlpExporter } from "../../src/telemetry/otlp-exporter.ts"
import { retryAfterMs } from "../../src/transport/retry-after.ts"
import { eventually } from "../stage/eventually.ts"
import { OtlpCollector } from "./collector.ts"

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function collect(respond?: ConstructorParameters<typeof OtlpCollector>[0]): OtlpCollector {
  const collector = new OtlpCollector(respond)
  ends.push(() => collector.stop())
  return collector
}

function exporterTo(url: string, options: Partial<ExporterOptions> = {}) {
  const counts = { sent: 0, failed: 0, dropped: 0 }
  const changes: unknown[] = []
  const exporter = new OtlpExporter({
    url: `${url}/v1/traces`,
    headers: { "x-api-key": "opens" },
    resource: { "service.name": "test" },
    retryAfterMs,
    onSpans: (result, count) => {
      counts[result] += count
    },
    onChange: (change) => changes.push(change),
    gatherMs: 10,
    retryMs: 50,
    ...options,
  })
  ends.push(() => exporter.flush())
  return { exporter, counts, changes }
}

const span = (name: string) => JSON.stringify({ name, kind: 3, attributes: [], status: {} })
const spans = (count: number) => Array.from({ length: count }, (_, turn) => span(`s${turn}`))
const names = (collector: OtlpCollector) => collector.spans.map(({ name }) => name)

describe("spans", () => {
  test("spans are batched and posted as one request, with the resource and the headers", async () => {
    const collector = collect()
    const { exporter, counts } = exporterTo(collector.url)
    exporter.add([span("one")])
    exporter.add([span("two"), span("three")])
    await eventually(() => counts.sent === 3)
    const [request] = collector.requests
    expect(collector.requests).toHaveLength(1)
    expect(request?.path).toBe("/v1/traces")
    expect(request?.headers.get("content-type")).toBe("application/json")
    expect(request?.headers.get("x-api-key")).toBe("opens")
    expect(names(collector)).toEqual(["one", "two", "three"])
    expect(JSON.parse(request?.text ?? "").resourceSpans[0].resource).toEqual({
      attributes: [{ key: "service.name", value: { stringValue: "test" } }],
    })
  })

  test("spans leave in batches of at most 256, one after the other, none lost", async () => {
    let open = 0
    let most = 0
    const collector = collect(async () => {
      most = Math.max(most, ++open)
      await Bun.sleep(5)
      open--
      return Response.json({})
    })
    const { exporter, counts } = exporterTo(collector.url)
    for (const each of spans(1000)) exporter.add([each])
    await eventually(() => counts.sent === 1000)
    expect(most).toBe(1)
    expect(names(collector)).toEqual(spans(1000).map((each) => JSON.parse(each).name))
    for (const { text } of collector.requests) {
      expect(JSON.parse(text).resourceSpans[0].scopeSpans[0].spans.length).toBeLessThanOrEqual(256)
    }
  })

  test("waiting spans are sent when the gateway stops, and later ones are dropped", async () => {
    const collector = collect()
    const { exporter, counts } = exporterTo(collector.url, { gatherMs: 60_000 })
    exporter.add(spans(700))
    await exporter.flush()
    exporter.add([span("late")])
    expect(collector.spans).toHaveLength(700)
    expect(counts).toEqual({ sent: 700, failed: 0, dropped: 1 })
  })
})

describe("a collector", () => {
  test.each([429, 500, 503])(
    "a collector that answers %i is retried once, then the batch is dropped",
    async (status) => {
      const collector = collect(() => new Response(null, { status }))
      const { exporter, counts, changes } = exporterTo(collector.url)
      exporter.add(spans(3))
      await eventually(() => counts.failed === 3)
      expect(collector.requests).toHaveLength(2)
      expect(changes).toEqual([{ takes: false, status }])
      collector.respond = () => Response.json({})
      exporter.add(spans(2))
      await eventually(() => counts.sent === 2)
      expect(changes).toEqual([
        { takes: false, status },
        { takes: true, status: 200 },
      ])
    },
  )

  test("a collector that requests a delay gets it", async () => {
    let requestCount = 0
    const collector = collect(() =>
      requestCount++ === 0 ? new Response(null, { status: 429, headers: { "retry-after": "1" } }) : Response.json({}),
    )
    const { exporter, counts } = exporterTo(collector.url)
    exporter.add(spans(3))
    await eventually(() => counts.sent === 3)
    const [first, second] = collector.requests
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(950)
  })

  test.each([400, 401, 404])("a collector that answers %i is not retried", async (status) => {
    const collector = collect(() => new Response(null, { status }))
    const { exporter, counts } = exporterTo(collector.url)
    exporter.add(spans(3))
    await eventually(() => counts.failed === 3)
    await Bun.sleep(100)
    expect(collector.requests).toHaveLength(1)
  })

  test("a collector's redirect is not followed, since its credentials are for one host", async () => {
    const elsewhere = collect()
    const collector = collect(() => Response.redirect(`${elsewhere.url}/v1/traces`, 307))
    const { exporter, counts } = exporterTo(collector.url)
    exporter.add(spans(1))
    await eventually(() => counts.failed === 1)
    expect(elsewhere.requests).toHaveLength(0)
  })

  test("an unreachable collector loses spans, and memory stays within the queue limit", async () => {
    const { exporter, counts, changes } = exporterTo("http://127.0.0.1:1", { maxQueued: 500, retryMs: 20 })
    for (let turn = 0; turn < 10_000; turn++) exporter.add(spans(2))
    expect(counts.dropped).toBeGreaterThanOrEqual(20_000 - 500 - 256)
    await eventually(() => counts.dropped + counts.failed === 20_000)
    expect(changes).toEqual([{ takes: false, status: undefined }])
  })

  test("a collector that never answers is abandoned, and does not hold up a stop", async () => {
    const collector = collect(() => new Promise<Response>(() => {}))
    const { exporter, counts } = exporterTo(collector.url, { timeoutMs: 100, retryMs: 10 })
    exporter.add(spans(5))
    await eventually(() => counts.failed === 5)
    // Without the bound of two seconds the stop would outlast the test.
    const stuck = exporterTo(collector.url, { timeoutMs: 600_000 })
    stuck.exporter.add(spans(600))
    await stuck.exporter.flush()
    expect(stuck.counts.failed + stuck.counts.dropped).toBe(600)
  })
})
