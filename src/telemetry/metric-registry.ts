// Counters, gauges and histograms, and how they are written in Prometheus' text format 0.0.4. A metric holds a bounded
// number of series: further sets of labels are counted under `other`.

export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8"

const MAX_SERIES = 2000
const OTHER = "other"
const FOLDED = "trivium_metric_series_folded_total"

/** The values of one metric under one set of labels. */
interface MetricSeries {
  /** Its lines; `labels` is the text between the braces. */
  write(name: string, labels: string): string
}

type MetricKind = "counter" | "gauge" | "histogram"

export interface MetricOptions<Label extends string> {
  readonly help: string
  readonly labels?: readonly Label[]
}

export class CounterSeries implements MetricSeries {
  private value = 0

  /** A counter never falls: what is not a positive number is not counted. */
  add(amount = 1): void {
    if (amount > 0 && amount < Number.POSITIVE_INFINITY) this.value += amount
  }

  write(name: string, labels: string): string {
    return sample(name, labels, numberText(this.value))
  }
}

/** Counts billionths, and is exact for amounts of any size. */
export class NanoCounterSeries implements MetricSeries {
  private nano = 0n

  add(nano: bigint): void {
    if (nano > 0n) this.nano += nano
  }

  write(name: string, labels: string): string {
    return sample(name, labels, nanoText(this.nano))
  }
}

export class GaugeSeries implements MetricSeries {
  value = 0

  write(name: string, labels: string): string {
    return sample(name, labels, numberText(this.value))
  }
}

/** A gauge that is read when it is written out. */
class CallbackSeries implements MetricSeries {
  constructor(private readonly read: () => number) {}

  write(name: string, labels: string): string {
    return sample(name, labels, numberText(this.read()))
  }
}

/** The same in billionths, exactly. */
class NanoCallbackSeries implements MetricSeries {
  constructor(private readonly read: () => bigint) {}

  write(name: string, labels: string): string {
    return sample(name, labels, nanoText(this.read()))
  }
}

export class HistogramSeries implements MetricSeries {
  /** How many fell under each bound and over the one before; the last are beyond all bounds. */
  private readonly counts: number[]
  private sum = 0

  constructor(private readonly bounds: readonly number[]) {
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  observe(value: number): void {
    // One that is no number would spoil the sum for good.
    if (!(value >= 0 && value < Number.POSITIVE_INFINITY)) return
    let place = 0
    while (place < this.bounds.length && value > (this.bounds[place] as number)) place++
    this.counts[place] = (this.counts[place] as number) + 1
    this.sum += value
  }

  write(name: string, labels: string): string {
    const before = labels === "" ? "" : `${labels},`
    let count = 0
    let text = ""
    for (const [place, each] of this.counts.entries()) {
      count += each
      text += sample(`${name}_bucket`, `${before}le="${numberText(this.bounds[place] ?? Infinity)}"`, String(count))
    }
    return text + sample(`${name}_sum`, labels, numberText(this.sum)) + sample(`${name}_count`, labels, String(count))
  }
}

interface MetricDeclaration<Label extends string, Each extends MetricSeries> extends MetricOptions<Label> {
  readonly kind: MetricKind
  readonly labels: readonly Label[]
  readonly make: () => Each
  readonly maxSeries: number
  readonly onFold: (name: string) => void
}

/** One metric: its series by their labels. */
export class MetricFamily<Label extends string, Each extends MetricSeries> {
  private readonly series = new Map<string, Each>()

  constructor(
    readonly name: string,
    readonly declared: MetricDeclaration<Label, Each>,
  ) {}

  /** The series of these labels. Worth keeping where it is needed often. */
  with(values: Readonly<Record<Label, string>>): Each {
    const labels = this.formatLabels((label) => values[label])
    const known = this.series.get(labels)
    if (known) return known
    const { maxSeries, onFold } = this.declared
    if (this.series.size < maxSeries) return this.add(labels)
    onFold(this.name)
    const other = this.formatLabels(() => OTHER)
    return this.series.get(other) ?? this.add(other)
  }

  write(): string {
    const { help, kind } = this.declared
    let text = `# HELP ${this.name} ${escapeLabel(help)}\n# TYPE ${this.name} ${kind}\n`
    for (const [labels, series] of this.series) text += series.write(this.name, labels)
    return text
  }

  /** What identifies a series is how it is written, so that no two can be written alike. */
  private formatLabels(value: (label: Label) => string): string {
    const pairs = this.declared.labels.map((label) => `${label}="${escapeLabel(value(label)).replaceAll('"', '\\"')}"`)
    return pairs.join(",")
  }

  private add(labels: string): Each {
    const series = this.declared.make()
    this.series.set(labels, series)
    return series
  }
}

export class MetricRegistry {
  private readonly known = new Map<string, MetricFamily<string, MetricSeries>>()
  private readonly maxSeries: number
  private readonly folded: MetricFamily<"metric", CounterSeries>

  constructor({ maxSeries = MAX_SERIES }: { readonly maxSeries?: number } = {}) {
    this.maxSeries = maxSeries
    const help = "Label sets beyond a metric's limit, counted under `other`."
    this.folded = this.counter(FOLDED, { help, labels: ["metric"] })
  }

  get metrics(): readonly MetricFamily<string, MetricSeries>[] {
    return [...this.known.values()]
  }

  counter<const Label extends string>(name: string, options: MetricOptions<Label>): MetricFamily<Label, CounterSeries> {
    return this.declare(name, { ...options, kind: "counter", make: () => new CounterSeries() })
  }

  nanoCounter<const Label extends string>(
    name: string,
    options: MetricOptions<Label>,
  ): MetricFamily<Label, NanoCounterSeries> {
    return this.declare(name, { ...options, kind: "counter", make: () => new NanoCounterSeries() })
  }

  gauge<const Label extends string>(name: string, options: MetricOptions<Label>): MetricFamily<Label, GaugeSeries> {
    return this.declare(name, { ...options, kind: "gauge", make: () => new GaugeSeries() })
  }

  /** A gauge without labels that calls `read` when it is scraped. */
  callback(name: string, help: string, read: () => number): void {
    this.declare(name, { help, kind: "gauge", make: () => new CallbackSeries(read) }).with({})
  }

  /** The same of billionths. */
  nanoCallback(name: string, help: string, read: () => bigint): void {
    this.declare(name, { help, kind: "gauge", make: () => new NanoCallbackSeries(read) }).with({})
  }

  histogram<const Label extends string>(
    name: string,
    options: MetricOptions<Label> & { readonly bounds: readonly number[] },
  ): MetricFamily<Label, HistogramSeries> {
    return this.declare(name, { ...options, kind: "histogram", make: () => new HistogramSeries(options.bounds) })
  }

  /** Every metric, as Prometheus reads it. */
  write(): string {
    let text = ""
    for (const metric of this.known.values()) text += metric.write()
    return text
  }

  private declare<Label extends string, Each extends MetricSeries>(
    name: string,
    { help, labels = [], kind, make }: MetricOptions<Label> & { readonly kind: MetricKind; readonly make: () => Each },
  ): MetricFamily<Label, Each> {
    if (!/^trivium_[a-z0-9_]+$/.test(name)) throw new Error(`${name} is no name of a metric`)
    if (this.known.has(name)) throw new Error(`the metric ${name} is declared twice`)
    for (const label of labels) {
      if (!/^[a-z][a-z0-9_]*$/.test(label) || label === "le") throw new Error(`${name}: ${label} is no label`)
    }
    const onFold = (metric: string) => this.folded.with({ metric }).add()
    const { maxSeries } = this
    const metric = new MetricFamily<Label, Each>(name, { help, labels, kind, make, maxSeries, onFold })
    this.known.set(name, metric as unknown as MetricFamily<string, MetricSeries>)
    return metric
  }
}

function sample(name: string, labels: string, value: string): string {
  return labels === "" ? `${name} ${value}\n` : `${name}{${labels}} ${value}\n`
}

function nanoText(nano: bigint): string {
  const digits = nano.toString().padStart(10, "0")
  const fraction = digits.slice(-9).replace(/0+$/, "")
  return digits.slice(0, -9) + (fraction === "" ? "" : `.${fraction}`)
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf"
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value)
}

function escapeLabel(text: string): string {
  return text.toWellFormed().replaceAll("\\", "\\\\").replaceAll("\n", "\\n")
}
