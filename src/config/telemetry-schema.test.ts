import { describe, expect, test } from "bun:test"
import { load, problems } from "./load-config.fixture.ts"

const file = 'telemetry: { traces: "http://collector:4318/", headers: { X-Api-Key: "Basic opens it" }, sample: 0.25 }'

function traces(yaml: string | undefined, environment: Record<string, string> = {}) {
  const { traces: found } = load(yaml, { environment })
  return found && { ...found, headers: Object.entries(found.headers).map(([name, value]) => [name, value.reveal()]) }
}

describe("the destination of traces", () => {
  test("nothing is exported unless an endpoint is configured", () => {
    expect(traces(undefined)).toBeUndefined()
    expect(traces(undefined, { OTEL_SERVICE_NAME: "x", OTEL_EXPORTER_OTLP_HEADERS: "a=b" })).toBeUndefined()
    expect(traces(undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: "" })).toBeUndefined()
  })

  test("traces go to the file's collector, with its headers and share", () => {
    expect(traces(file)).toEqual({
      url: "http://collector:4318/v1/traces",
      headers: [["x-api-key", "Basic opens it"]],
      sample: 0.25,
      serviceName: "trivium",
    })
    expect(traces('telemetry: { traces: "https://c/otel/v1/traces" }')).toMatchObject({
      url: "https://c/otel/v1/traces",
      sample: 1,
    })
  })

  test("traces go where the OpenTelemetry variables point, the more specific one first", () => {
    const base = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://env:4318", OTEL_SERVICE_NAME: "gateway-7" }
    expect(traces(undefined, base)).toEqual({
      url: "http://env:4318/v1/traces",
      headers: [],
      sample: 1,
      serviceName: "gateway-7",
    })
    const exact = { ...base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://env:4318/own/path" }
    expect(traces(undefined, exact)?.url).toBe("http://env:4318/own/path")
    expect(traces(file, base)).toMatchObject({ url: "http://env:4318/v1/traces", sample: 0.25 })
  })

  test("the file's trace headers are sent only to the file's collector", () => {
    const headers = { OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20env%3D, X-API-KEY=other" }
    expect(traces(file, headers)?.headers).toEqual([
      ["x-api-key", "other"],
      ["authorization", "Bearer env="],
    ])
    expect(traces(file, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://env:4318" })?.headers).toEqual([])
  })
})

describe("invalid telemetry settings", () => {
  test("a problem of the telemetry settings is reported with its position", () => {
    expect(problems('telemetry: { traces: "collector:4318", sample: 1.5 }')).toEqual([
      "trivium.yaml:1:22 telemetry.traces: expected an http:// or https:// address",
      "trivium.yaml:1:48 telemetry.sample: expected a number from 0 to 1, such as 0.1",
    ])
    expect(problems("telemetry: { sample: 1 }")).toEqual(['trivium.yaml:1:1 telemetry: the member "traces" is missing'])
    expect(problems(undefined, { environment: { OTEL_EXPORTER_OTLP_ENDPOINT: "nowhere" } })).toEqual([
      "OTEL_EXPORTER_OTLP_ENDPOINT: expected an http:// or https:// address",
    ])
  })

  test("a problem of the telemetry settings never shows the value of a header", () => {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://env", OTEL_EXPORTER_OTLP_HEADERS: "sk-canary" }
    expect(problems(undefined, { environment })).toEqual([
      "OTEL_EXPORTER_OTLP_HEADERS: expected headers such as `name=value,other=value`, their values percent-encoded",
    ])
    const yaml = 'telemetry: { traces: "http://c", headers: { a: "sk-canary\\nx" } }'
    expect(problems(yaml).join()).not.toContain("sk-canary")
    expect(problems(yaml)).toHaveLength(1)
    expect(String(JSON.stringify(load(file)))).not.toContain("opens it")
  })
})
