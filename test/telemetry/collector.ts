// A trace collector on a real socket: accepts OTLP over HTTP as JSON, and answers as scripted.

export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: { readonly code?: number }
  readonly attributes: Readonly<Record<string, unknown>>
}

interface CollectedRequest {
  readonly path: string
  readonly headers: Headers
  readonly text: string
  readonly at: number
}

type CollectorScript = (received: CollectedRequest) => Response | Promise<Response>

export const SERVER = 2
export const CLIENT = 3

export class OtlpCollector {
  readonly requests: CollectedRequest[] = []
  respond: CollectorScript
  private readonly server: ReturnType<typeof Bun.serve>

  constructor(respond: CollectorScript = () => Response.json({ partialSuccess: {} })) {
    this.respond = respond
    this.server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        const { headers } = request
        const received = {
          path: new URL(request.url).pathname,
          headers,
          text: await request.text(),
          at: performance.now(),
        }
        this.requests.push(received)
        return this.respond(received)
      },
    })
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.port}`
  }

  /** All that was received. */
  get text(): string {
    return this.requests.map(({ text }) => text).join("\n")
  }

  get spans(): CollectedSpan[] {
    return this.requests.flatMap(({ text }) => spansIn(JSON.parse(text)))
  }

  get exchanges(): CollectedSpan[] {
    return this.spans.filter(({ kind }) => kind === SERVER)
  }

  attemptsOf({ spanId }: CollectedSpan): CollectedSpan[] {
    return this.spans.filter(({ parentSpanId }) => parentSpanId === spanId)
  }

  async stop(): Promise<void> {
    await this.server.stop(true)
  }
}

interface OtlpPayload {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: WireAttributes }
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<CollectedSpan, "attributes"> & { attributes: WireAttributes })[]
    }[]
  }[]
}
type WireAttributes = readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]

function spansIn(wire: OtlpPayload): CollectedSpan[] {
  const spans = wire.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
  return spans.map((span) => ({ ...span, attributes: plain(span.attributes) }))
}

/** Checks that each attribute occurs once and has a value of its type. */
function plain(attributes: WireAttributes): Record<string, unknown> {
  const read: Record<string, unknown> = {}
  for (const { key, value } of attributes) {
    const [[type, found]] = Object.entries(value) as [[string, unknown]]
    const expected = { stringValue: "string", intValue: "string", doubleValue: "number", boolValue: "boolean" }[type]
    if (key in read || typeof found !== expected) throw new Error(`bad attribute ${key}`)
    read[key] = type === "intValue" ? Number(found) : found
  }
  return read
}
