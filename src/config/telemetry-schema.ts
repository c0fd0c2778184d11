// The destination of traces, from the file and from OpenTelemetry's variables.
import { number } from "../canonical/schema/value-schema.ts"
import type { TracesSettings } from "./config.ts"
import type { ConfigFileProblem } from "./config-error.ts"
import {
  type ConfigShape,
  dictionary,
  INVALID,
  object,
  ParseProblem,
  required,
  text,
  withDefault,
} from "./config-shape.ts"
import { type CredentialFileContext, secretOrFile } from "./credential-file.ts"
import { baseUrl } from "./parse-values.ts"
import { Secret } from "./secret.ts"

export interface FileTelemetry {
  readonly traces: string
  readonly headers: ReadonlyMap<string, Secret>
  readonly sample: number
}

const SERVICE_NAME = "trivium"
const TRACES_PATH = "/v1/traces"

export function telemetrySchema(reading: CredentialFileContext): ConfigShape<FileTelemetry> {
  const value = text(secretOrFile(headerValue, reading))
  return object({
    traces: required(text(tracesUrl)),
    headers: withDefault(
      dictionary(headerName, () => value),
      new Map(),
    ),
    sample: withDefault(share, 1),
  })
}

type TelemetryEnvironment = Readonly<Record<string, string | undefined>>

/** The environment overrides the file; an empty variable counts as unset. */
export function readTraces(
  file: FileTelemetry | undefined,
  { environment, problems }: { environment: TelemetryEnvironment; problems: ConfigFileProblem[] },
): TracesSettings | undefined {
  const read = <T>(variable: string, parse: (text: string) => T | ParseProblem): T | undefined => {
    const value = environment[variable] ? parse(environment[variable]) : undefined
    if (!(value instanceof ParseProblem)) return value
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
    // The file's headers authenticate at the file's collector, and are not sent to another one.
    headers: Object.fromEntries([...(named === undefined && file ? file.headers : []), ...(headers ?? [])]),
    sample: file?.sample ?? 1,
    serviceName: environment.OTEL_SERVICE_NAME || SERVICE_NAME,
  }
}

/** A collector's address; traces have their own path there. */
function tracesUrl(address: string): string | ParseProblem {
  const url = baseUrl(address)
  return url instanceof ParseProblem || url.endsWith(TRACES_PATH) ? url : url + TRACES_PATH
}

function headerName(name: string): string | ParseProblem {
  if (/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) return name.toLowerCase()
  return new ParseProblem("expected the name of a header")
}

/** Often a credential, and treated as one. */
function headerValue(value: string): Secret | ParseProblem {
  const trimmed = value.trim()
  return /^[\x20-\x7e]+$/.test(trimmed)
    ? new Secret(trimmed)
    : new ParseProblem("expected the value of a header: ASCII characters on one line, not empty")
}

/** `name=value,name=value`, the values percent-encoded. */
function headerList(list: string): [string, Secret][] | ParseProblem {
  const headers: [string, Secret][] = []
  for (const pair of list.split(",")) {
    const [, name = "", value = ""] = /^\s*([^=\s]+)\s*=(.*)$/.exec(pair) ?? []
    const read = { name: headerName(name), value: headerValue(decodeHeaderValue(value)) }
    if (read.name instanceof ParseProblem || read.value instanceof ParseProblem) {
      return new ParseProblem("expected headers such as `name=value,other=value`, their values percent-encoded")
    }
    headers.push([read.name, read.value])
  }
  return headers
}

function decodeHeaderValue(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return ""
  }
}

/** A number from 0 to 1. */
const share: ConfigShape<number> = {
  jsonSchema: number({ min: 0, max: 1 }).jsonSchema,
  read(node) {
    const content = node.content()
    const number = content.kind === "number" ? content.number : Number.NaN
    if (number >= 0 && number <= 1) return number
    if (content.kind !== "broken") node.report("expected a number from 0 to 1, such as 0.1")
    return INVALID
  },
}
