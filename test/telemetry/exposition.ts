// A strict parser of Prometheus' text format 0.0.4, independent of the code that writes it.

export interface ExposedSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  /** The number as written. */
  readonly text: string
  readonly value: number
}

export interface ExposedFamily {
  readonly name: string
  readonly help: string
  readonly kind: string
  readonly samples: ExposedSample[]
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*/
const VALUE = /^(\+Inf|-Inf|NaN|[+-]?(\d+(\.\d+)?|\.\d+)(e[+-]?\d+)?)$/i
const SUFFIXES = ["_bucket", "_sum", "_count"]

/** Every metric by its name; throws an Error with the line if the text is malformed. */
export function parseExposition(text: string): Map<string, ExposedFamily> {
  const families = new Map<string, ExposedFamily>()
  const helps = new Map<string, string>()
  const seen = new Set<string>()
  let open: ExposedFamily | undefined
  if (!text.endsWith("\n")) throw new Error("the text does not end in a new line")
  for (const line of text.slice(0, -1).split("\n")) {
    const [, keyword, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/s.exec(line) ?? []
    if (keyword === "HELP") {
      if (helps.has(name) || !NAME.test(name)) throw wrong("help", line)
      helps.set(name, unescaped(rest, "\\n"))
    } else if (keyword === "TYPE") {
      const help = helps.get(name)
      if (families.has(name) || help === undefined || !/^(counter|gauge|histogram)$/.test(rest))
        throw wrong("type", line)
      open = { name, help, kind: rest, samples: [] }
      families.set(name, open)
    } else {
      const sample = parseSample(line)
      if (!open || baseName(sample.name, open) !== open.name) throw wrong("sample outside its metric", line)
      const series = `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`
      if (seen.has(series)) throw wrong("duplicate series", line)
      seen.add(series)
      open.samples.push(sample)
    }
  }
  for (const family of families.values()) checkFamily(family)
  return families
}

function baseName(name: string, { kind }: ExposedFamily): string {
  const suffix = kind === "histogram" ? SUFFIXES.find((each) => name.endsWith(each)) : ""
  if (suffix === undefined) throw new Error(`${name}: a histogram has no sample of its own name`)
  return suffix === "" ? name : name.slice(0, -suffix.length)
}

function parseSample(line: string): ExposedSample {
  const brace = line.indexOf("{")
  const labelled = brace >= 0 && brace < (line.indexOf(" ") < 0 ? line.length : line.indexOf(" "))
  const name = labelled ? line.slice(0, brace) : line.slice(0, line.indexOf(" "))
  if (!NAME.test(name)) throw wrong("name", line)
  const { labels, end } = labelled ? parseLabels(line, brace + 1) : { labels: {}, end: name.length }
  const text = line.slice(end + 1)
  if (line[end] !== " " || !VALUE.test(text)) throw wrong("value", line)
  return { name, labels, text, value: text.endsWith("Inf") ? Number(`${text}inity`) : Number(text) }
}

function parseLabels(line: string, from: number): { labels: Record<string, string>; end: number } {
  const labels: Record<string, string> = {}
  for (let at = from; ; ) {
    const [name = ""] = LABEL.exec(line.slice(at)) ?? []
    if (name === "" || name.startsWith("__") || name in labels) throw wrong("label", line)
    at += name.length
    const [quoted = "", value = ""] = /^="((?:[^"\\]|\\.)*)"/s.exec(line.slice(at)) ?? []
    if (quoted === "") throw wrong("label value", line)
    labels[name] = unescaped(value, '\\n"')
    at += quoted.length
    if (line[at] === "}") return { labels, end: at + 1 }
    if (line[at] !== ",") throw wrong("label separator", line)
    at++
  }
}

/** Only these may follow a backslash. */
function unescaped(text: string, allowed: string): string {
  return text.replace(/\\(.?)/gs, (pair, letter: string) => {
    if (letter === "" || !allowed.includes(letter)) throw wrong("escape", pair)
    return letter === "n" ? "\n" : letter
  })
}

function checkFamily({ name, kind, samples }: ExposedFamily): void {
  const falls = kind === "counter" && samples.some(({ value }) => !(value >= 0))
  if (falls) throw new Error(`${name}: a counter below zero`)
  if (kind === "counter" && !name.endsWith("_total")) throw new Error(`${name}: a counter that is no total`)
  if (kind !== "histogram") return
  const groups = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels))
  for (const group of groups.values()) checkHistogram(name, group)
}

function checkHistogram(name: string, group: readonly ExposedSample[]): void {
  const buckets = group.filter((sample) => sample.name.endsWith("_bucket"))
  const bounds = buckets.map(({ labels: { le = "" } }) => (le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le)))
  const one = (suffix: string) => group.filter((sample) => sample.name === name + suffix)
  const [count] = one("_count")
  if (one("_count").length !== 1 || one("_sum").length !== 1) throw new Error(`${name}: not one sum and one count`)
  const ascends = (numbers: readonly number[], strictly: boolean) =>
    numbers.every((each, at) => at === 0 || each > (numbers[at - 1] ?? 0) || (!strictly && each === numbers[at - 1]))
  if (!ascends(bounds, true) || bounds.at(-1) !== Number.POSITIVE_INFINITY) throw new Error(`${name}: bounds`)
  const counts = buckets.map(({ value }) => value)
  if (!ascends(counts, false) || counts.at(-1) !== count?.value) throw new Error(`${name}: buckets do not add up`)
}

function wrong(what: string, line: string): Error {
  return new Error(`bad ${what}: ${JSON.stringify(line)}`)
}

/** The value of the series with these labels, and no others; undefined where there is none. */
export function valueAt(
  families: ReadonlyMap<string, ExposedFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  return sampleOf(families, name, labels)?.value
}

export function sampleOf(
  families: ReadonlyMap<string, ExposedFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): ExposedSample | undefined {
  const samples = [...families.values()].flatMap((family) => family.samples)
  return samples.find((sample) => sample.name === name && Bun.deepEquals(sample.labels, labels))
}
