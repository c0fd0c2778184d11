// Log lines, one JSON object each, built from a list of allowed fields: other fields are not written, so that
// no prompt, key or upstream body gets into a log with an object that was passed along.

/** Every field a line may hold. Text here is the gateway's own or an operator's, never a caller's or an upstream's. */
export interface LogFields {
  readonly request_id?: string | undefined
  readonly route?: string | undefined
  readonly protocol?: string | undefined
  readonly key_id?: string | undefined
  readonly tenant?: string | undefined
  /** Of those who are not let in; an address, never what a caller wrote. */
  readonly client_address?: string | undefined
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly stream?: boolean | undefined
  readonly status?: number | undefined
  readonly outcome?: string | undefined
  readonly error_code?: string | undefined
  readonly error_owner?: string | undefined
  readonly attempts?: number | undefined
  readonly duration_ms?: number | undefined
  readonly first_event_ms?: number | undefined
  readonly input_tokens?: number | undefined
  readonly cache_read_tokens?: number | undefined
  readonly cache_write_tokens?: number | undefined
  readonly output_tokens?: number | undefined
  readonly reasoning_tokens?: number | undefined
  /** The upstream's protocol, where it is not the client's; and the number of losses. */
  readonly upstream_protocol?: string | undefined
  readonly losses?: number | undefined
  readonly reason?: string | undefined
  readonly stack?: string | undefined
  readonly config_file?: string | undefined
  readonly in_flight?: number | undefined
  /** What an earlier run of the process had left open in the books. */
  readonly holds?: number | undefined
  readonly signal?: string | undefined
  /** How many models a listing brought, or how many of it are left out. */
  readonly models?: number | undefined
}

export type LogLevel = "info" | "warn" | "error"

export interface LogOptions {
  /** Takes whole lines; may be called with many at once. */
  readonly write: (text: string) => void
  readonly now?: () => number
  /** Lines are gathered this long, so that writing them costs little under load. */
  readonly gatherMs?: number
}

export class Log {
  private lines: string[] = []
  private lastMs = Number.NaN
  private lastTime = ""
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(private readonly options: LogOptions) {}

  line(level: LogLevel, event: string, fields: LogFields = {}): void {
    this.lines.push(JSON.stringify(pickLogFields(this.time(), level, event, fields)))
    this.timer ??= setTimeout(() => this.flush(), this.options.gatherMs ?? 50)
  }

  /** Many lines fall into one millisecond, and to write it out costs more than the rest of a line. */
  private time(): string {
    const now = this.options.now?.() ?? Date.now()
    if (now !== this.lastMs) this.lastTime = new Date(now).toISOString()
    this.lastMs = now
    return this.lastTime
  }

  flush(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.lines.length === 0) return
    const text = `${this.lines.join("\n")}\n`
    this.lines = []
    this.options.write(text)
  }
}

/** The list of what is written, named one by one: an object copied whole would bring along whatever it holds. */
function pickLogFields(time: string, level: LogLevel, event: string, fields: LogFields) {
  return {
    time,
    level,
    event,
    request_id: fields.request_id,
    route: fields.route,
    protocol: fields.protocol,
    key_id: fields.key_id,
    tenant: fields.tenant,
    client_address: fields.client_address,
    model: fields.model,
    provider: fields.provider,
    stream: fields.stream,
    status: fields.status,
    outcome: fields.outcome,
    error_code: fields.error_code,
    error_owner: fields.error_owner,
    attempts: fields.attempts,
    duration_ms: fields.duration_ms,
    first_event_ms: fields.first_event_ms,
    input_tokens: fields.input_tokens,
    cache_read_tokens: fields.cache_read_tokens,
    cache_write_tokens: fields.cache_write_tokens,
    output_tokens: fields.output_tokens,
    reasoning_tokens: fields.reasoning_tokens,
    upstream_protocol: fields.upstream_protocol,
    losses: fields.losses,
    reason: fields.reason,
    stack: fields.stack,
    config_file: fields.config_file,
    in_flight: fields.in_flight,
    holds: fields.holds,
    signal: fields.signal,
    models: fields.models,
  }
}
