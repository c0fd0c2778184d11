// Log lines, one JSON object each, built from a list of allowed fields: what is not on the list is not written, so that
// no prompt, key or upstream body can get into a log by way of an object somebody passed along.

/** Every field a line may hold. Text here is the gateway's own or an operator's, never a caller's or an upstream's. */
export interface LogFields {
  readonly request_id?: string | undefined
  readonly route?: string | undefined
  readonly protocol?: string | undefined
  readonly key_id?: string | undefined
  readonly tenant?: string | undefined
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
  readonly reason?: string | undefined
  readonly stack?: string | undefined
  readonly config_file?: string | undefined
  readonly in_flight?: number | undefined
  readonly signal?: string | undefined
}

const ALLOWED: ReadonlySet<string> = new Set([
  "request_id",
  "route",
  "protocol",
  "key_id",
  "tenant",
  "model",
  "provider",
  "stream",
  "status",
  "outcome",
  "error_code",
  "error_owner",
  "attempts",
  "duration_ms",
  "first_event_ms",
  "input_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
  "reason",
  "stack",
  "config_file",
  "in_flight",
  "signal",
] as const satisfies readonly (keyof LogFields)[])

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
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(private readonly options: LogOptions) {}

  line(level: LogLevel, event: string, fields: LogFields = {}): void {
    const time = new Date(this.options.now?.() ?? Date.now()).toISOString()
    const rest = JSON.stringify(onlyAllowed(fields)).slice(1)
    this.lines.push(`{"time":"${time}","level":"${level}","event":"${event}"${rest === "}" ? "" : ","}${rest}\n`)
    this.timer ??= setTimeout(() => this.flush(), this.options.gatherMs ?? 50)
  }

  flush(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.lines.length === 0) return
    const text = this.lines.join("")
    this.lines = []
    this.options.write(text)
  }
}

/** The fields as they are where all are on the list, as almost always; else those that are. */
function onlyAllowed(fields: LogFields): LogFields {
  for (const name in fields) if (!isAllowed(name, fields)) return filtered(fields)
  return fields
}

function filtered(fields: LogFields): LogFields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => isAllowed(name, fields)))
}

function isAllowed(name: string, fields: LogFields): boolean {
  return ALLOWED.has(name) && typeof fields[name as keyof LogFields] !== "object"
}
