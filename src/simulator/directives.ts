// Directives that make the simulator fail or slow down: after `@` in a model's name, or in the header x-simulate.

export interface SimulatedSpeed {
  /** Time from the request to the first token. */
  readonly firstTokenMs?: number | undefined
  /** Rate of one stream after its first token. */
  readonly tokensPerSecond?: number | undefined
  /** Maximum deviation of each wait, in either direction. */
  readonly jitterPercent?: number | undefined
}

/** A fault, and when it happens: before the headers, or after `at` events. */
export interface SimulatedFault {
  readonly effect: "stall" | "cut" | "reset" | "end" | "garbage" | "broken-json" | "error"
  readonly at: "before-headers" | number
}

export interface RetryHint {
  readonly form: "seconds" | "date" | "ms" | "x-ratelimit" | "anthropic-ratelimit" | "retry-info"
  readonly amount: number
}

export type UsageFault = "missing" | "zero" | "negative" | "huge" | "text" | "twice" | "after-end"

/** All directives of one request, joined. */
export interface SimulatorDirectives extends SimulatedSpeed {
  readonly status?: number
  readonly hints: readonly RetryHint[]
  readonly faults: readonly SimulatedFault[]
  readonly html?: true
  readonly splitBytes?: number
  readonly usage?: UsageFault
  /** Silence before a stream's last usage, and again after it. */
  readonly endingMs?: number
}

export const NO_DIRECTIVES: SimulatorDirectives = { hints: [], faults: [] }

interface DirectiveDeclaration {
  /** The directive's name, with `N` in place of a number. */
  readonly word: string
  readonly from?: number
  readonly to?: number
  readonly description: string
  readonly directives: (number: number) => Partial<SimulatorDirectives>
}

const MAX_NUMBER = 1_000_000

/** Directives that take effect after N events and, if `early` is set, before the headers. */
function stagedDirectives(
  what: SimulatedFault["effect"],
  { description, early }: { description: string; early?: string },
): DirectiveDeclaration[] {
  const after: DirectiveDeclaration = {
    word: `${what}-after-N`,
    description,
    directives: (at) => ({ faults: [{ effect: what, at }] }),
  }
  if (early === undefined) return [after]
  const before: DirectiveDeclaration = {
    word: `${what}-before-headers`,
    description: early,
    directives: () => ({ faults: [{ effect: what, at: "before-headers" }] }),
  }
  return [before, after]
}

function hint(
  word: string,
  { form, description }: { form: RetryHint["form"]; description: string },
): DirectiveDeclaration {
  return { word, description, directives: (amount) => ({ hints: [{ form, amount }] }) }
}

function usage(fault: UsageFault, description: string): DirectiveDeclaration {
  return { word: `usage-${fault}`, description, directives: () => ({ usage: fault }) }
}

const DIRECTIVES: readonly DirectiveDeclaration[] = [
  {
    word: "status-N",
    from: 300,
    to: 599,
    description: "that status, in the vendor's error shape; with `error-after-N`, the kind of that error",
    directives: (status) => ({ status }),
  },
  hint("retry-after-N", { form: "seconds", description: "429 with `retry-after: N`" }),
  hint("retry-after-date-N", { form: "date", description: "429 with `retry-after` as an HTTP date N seconds ahead" }),
  hint("retry-after-ms-N", { form: "ms", description: "429 with `retry-after-ms: N`" }),
  hint("x-ratelimit-N", {
    form: "x-ratelimit",
    description:
      "429 with `x-ratelimit-limit-`, `-remaining-` and `-reset-` of requests and tokens, reset in N seconds",
  }),
  hint("anthropic-ratelimit-N", {
    form: "anthropic-ratelimit",
    description: "429 with `anthropic-ratelimit-requests-` and `-tokens-`, reset in N seconds",
  }),
  hint("retry-info-N", { form: "retry-info", description: "429, in Gemini's shape with a `RetryInfo` of N seconds" }),
  ...stagedDirectives("stall", {
    early: "silence until the caller leaves",
    description: "silence after N events, until the caller leaves",
  }),
  ...stagedDirectives("cut", {
    early: "the connection closed (FIN) without an answer",
    description: "the connection closed (FIN) after N events, without the final chunk",
  }),
  ...stagedDirectives("reset", {
    early: "the connection reset (RST) without an answer",
    description: "the connection reset (RST) after N events",
  }),
  ...stagedDirectives("end", { description: "a clean end after N events, without the terminal event" }),
  ...stagedDirectives("garbage", { description: "bytes that are nothing after N events, then a clean end" }),
  ...stagedDirectives("broken-json", { description: "half of an event's JSON after N events; the rest follows whole" }),
  ...stagedDirectives("error", {
    description: "the vendor's error inside a 200 after N events; 0: as the first event",
  }),
  { word: "html", description: "a page of HTML with status 200", directives: () => ({ html: true }) },
  {
    word: "split-N",
    from: 1,
    description: "the body written in pieces of N bytes",
    directives: (splitBytes) => ({ splitBytes }),
  },
  usage("missing", "no usage"),
  usage("zero", "every count of the usage 0"),
  usage("negative", "every count negative"),
  usage("huge", "every count 1e12"),
  usage("text", 'every count the text `"NaN"`'),
  usage("twice", "the last event with usage, or an answer's usage member, twice"),
  usage("after-end", "the usage taken out, and the last event with it sent after the terminal event; streams only"),
  {
    word: "first-token-ms-N",
    description: "N milliseconds to the first token, or before a whole answer",
    directives: (firstTokenMs) => ({ firstTokenMs }),
  },
  {
    word: "tokens-per-second-N",
    from: 1,
    description: "N tokens a second after the first",
    directives: (tokensPerSecond) => ({ tokensPerSecond }),
  },
  {
    word: "ending-ms-N",
    description: "N milliseconds of silence before the last event with usage, and again after it; streams only",
    directives: (endingMs) => ({ endingMs }),
  },
  {
    word: "jitter-N",
    to: 100,
    description: "each wait up to N per cent shorter or longer",
    directives: (jitterPercent) => ({ jitterPercent }),
  },
]

const SEPARATOR = "."

const matchers = DIRECTIVES.map((word) => ({ word, pattern: new RegExp(`^${word.word.replace("N", "(\\d{1,7})")}$`) }))

/** The directives in a text, joined by `.`; undefined if one of them is unknown. */
export function parseDirectives(text: string): SimulatorDirectives | undefined {
  let directives = NO_DIRECTIVES
  for (const word of text.split(SEPARATOR)) {
    const directive = parseDirective(word)
    if (!directive) return undefined
    directives = joinDirectives(directives, directive)
  }
  return directives
}

function parseDirective(text: string): Partial<SimulatorDirectives> | undefined {
  for (const { word, pattern } of matchers) {
    const match = pattern.exec(text)
    if (!match) continue
    const number = Number(match[1] ?? 0)
    const { from = 0, to = MAX_NUMBER } = word
    const isWithin = match[1] === undefined || (number >= from && number <= to)
    return isWithin ? word.directives(number) : undefined
  }
  return undefined
}

/** Joins directives; if two contradict each other, the later one applies. */
export function joinDirectives(
  directives: SimulatorDirectives,
  more: Partial<SimulatorDirectives>,
): SimulatorDirectives {
  return {
    ...directives,
    ...more,
    hints: [...directives.hints, ...(more.hints ?? [])],
    faults: [...directives.faults, ...(more.faults ?? [])],
  }
}

export interface SplitName {
  readonly name: string
  /** The suffix with its `@`; empty if the name has none. */
  readonly suffix: string
  readonly directives: SimulatorDirectives
}

/** Splits a model's name from its directives. A suffix that is not a directive is part of the name. */
export function splitModelName(modelName: string): SplitName {
  const at = modelName.lastIndexOf("@")
  const directives = at < 1 ? undefined : parseDirectives(modelName.slice(at + 1))
  if (!directives) return { name: modelName, suffix: "", directives: NO_DIRECTIVES }
  return { name: modelName.slice(0, at), suffix: modelName.slice(at), directives }
}

/** The directives as rows of the documentation's table. */
export function directiveRows(): string[] {
  return DIRECTIVES.map(
    ({ word, from, to, description }) => `| \`${word}\` | ${range({ word, from, to })} | ${description} |`,
  )
}

function range({
  word,
  from = 0,
  to,
}: Pick<DirectiveDeclaration, "word"> & { from: number | undefined; to: number | undefined }) {
  if (!word.includes("N")) return ""
  return to === undefined ? `from ${from}` : `${from} to ${to}`
}
