// Where traces go, from the file and from the variables that OpenTelemetry's own tools read.
import type { TracesSettings } from "./config.ts"
import type { Problem } from "./config-error.ts"
import { type FileReading, secretOrFile } from "./credential-file.ts"
import { Secret } from "./secret.ts"
import { dictionary, invalid, object, otherwise, required, type Shape, text, Wrong } from "./shape.ts"
import { baseUrl } from "./values.ts"

export interface FileTelemetry {
  readonly traces: string
  readonly headers: ReadonlyMap<string, Secret>
  readonly sample: number
}

const SERVICE_NAME = "trivium"
const TRACES_PATH = "/v1/traces"

export function telemetrySchema(reading: FileReading): Shape<FileTelemetry> {
  const value = text(secretOrFile(headerValue, reading))
  return object({
    traces: required(text(tracesUrl)),
    headers: otherwise(
      dictionary(headerName, () => value),
      new Map(),
    ),
    sample: otherwise(share, 1),
  })
}

type Environment = Readonly<Record<string, string | undefined>>

/** The environment wins over the file; an empty variable counts as unset. */
export function readTraces(
  file: FileTelemetry | undefined,
  { environment, problems }: { environment: Environment; problems: Problem[] },
): TracesSettings | undefined {
  const read = <T>(variable: string, parse: (text: string) => T | Wrong): T | undefined => {
    const value = environment[variable] ? parse(environment[variable]) : undefined
    if (!(value instanceof Wrong)) return value
    problems.push({ path: variable, message: value.message })
    return undefined
  }
  const base = read("OTEL_EXPORTER_OTLP_ENDPOINT", tracesUrl)
  const exact = read("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", baseUrl)
  const headers = read("OTEL_EXPORTER_OTLP_HEADERS", headerList)
  const named = exact ?? base
  const url = named ?? file?.traces
  if (url === undefined) return undefined
  return {
    url,
    // The file's headers hold what opens the file's collector, which is nothing for another one.
    headers: Object.fromEntries([...(named === undefined && file ? file.headers : []), ...(headers ?? [])]),
    sample: file?.sample ?? 1,
    serviceName: environment.OTEL_SERVICE_NAME || SERVICE_NAME,
  }
}

/** A collector's address; traces have their own path there. */
function tracesUrl(address: string): string | Wrong {
  const url = baseUrl(address)
  return url instanceof Wrong || url.endsWith(TRACES_PATH) ? url : url + TRACES_PATH
}

function headerName(name: string): string | Wrong {
  if (/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) return name.toLowerCase()
  return new Wrong("expected the name of a header")
}

/** Often a credential, and treated as one. */
function headerValue(value: string): Secret | Wrong {
  const trimmed = value.trim()
  return /^[\x20-\x7e]+$/.test(trimmed)
    ? new Secret(trimmed)
    : new Wrong("expected the value of a header: ASCII characters on one line, not empty")
}

/** `name=value,name=value`, the values percent-encoded. */
function headerList(list: string): [string, Secret][] | Wrong {
  const headers: [string, Secret][] = []
  for (const pair of list.split(",")) {
    const [, name = "", value = ""] = /^\s*([^=\s]+)\s*=(.*)$/.exec(pair) ?? []
    const read = { name: headerName(name), value: headerValue(decoded(value)) }
    if (read.name instanceof Wrong || read.value instanceof Wrong) {
      return new Wrong("expected headers such as `name=value,other=value`, their values percent-encoded")
    }
    headers.push([read.name, read.value])
  }
  return headers
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return ""
  }
}

/** A number from 0 to 1. */
const share: Shape<number> = {
  read(place) {
    const content = place.content()
    const number = content.kind === "number" ? content.number : Number.NaN
    if (number >= 0 && number <= 1) return number
    if (content.kind !== "broken") place.report("expected a number from 0 to 1, such as 0.1")
    return invalid
  },
}
