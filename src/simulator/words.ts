// The words a failure or a speed is asked for in: after `@` in a model's name, or in the header x-simulate.

export interface Speed {
  /** From the request to the first token. */
  readonly firstTokenMs?: number | undefined
  /** Of one stream, after its first token. */
  readonly tokensPerSecond?: number | undefined
  /** How far each wait may be from its measure, either way. */
  readonly jitterPercent?: number | undefined
}

/** Where a fault happens: before the headers, or after so many events. */
export interface Fault {
  readonly does: "stall" | "cut" | "reset" | "end" | "garbage" | "broken-json" | "error"
  readonly at: "before-headers" | number
}

export interface RetryHint {
  readonly form: "seconds" | "date" | "ms" | "x-ratelimit" | "anthropic-ratelimit" | "retry-info"
  readonly amount: number
}

export type UsageFault = "missing" | "zero" | "negative" | "huge" | "text" | "twice" | "after-end"

/** What was asked for, all words taken together. */
export interface Wishes extends Speed {
  readonly status?: number
  readonly hints: readonly RetryHint[]
  readonly faults: readonly Fault[]
  readonly html?: true
  readonly splitBytes?: number
  readonly usage?: UsageFault
  /** Of silence before a stream's last usage, and again after it. */
  readonly endingMs?: number
}

export const NO_WISHES: Wishes = { hints: [], faults: [] }

interface Word {
  /** With `N` where a number stands. */
  readonly word: string
  readonly from?: number
  readonly to?: number
  readonly does: string
  readonly wish: (number: number) => Partial<Wishes>
}

const MAX_NUMBER = 1_000_000

/** A word that takes effect after so many events, or before the headers where `early` says so. */
function staged(what: Fault["does"], { does, early }: { does: string; early?: string }): Word[] {
  const after: Word = {
    word: `${what}-after-N`,
    does,
    wish: (at) => ({ faults: [{ does: what, at }] }),
  }
  if (early === undefined) return [after]
  const before: Word = {
    word: `${what}-before-headers`,
    does: early,
    wish: () => ({ faults: [{ does: what, at: "before-headers" }] }),
  }
  return [before, after]
}

function hint(word: string, { form, does }: { form: RetryHint["form"]; does: string }): Word {
  return { word, does, wish: (amount) => ({ hints: [{ form, amount }] }) }
}

function usage(fault: UsageFault, does: string): Word {
  return { word: `usage-${fault}`, does, wish: () => ({ usage: fault }) }
}

const WORDS: readonly Word[] = [
  {
    word: "status-N",
    from: 300,
    to: 599,
    does: "that status, in the vendor's error shape; beside `error-after-N`, the kind of that error",
    wish: (status) => ({ status }),
  },
  hint("retry-after-N", { form: "seconds", does: "429 with `retry-after: N`" }),
  hint("retry-after-date-N", { form: "date", does: "429 with `retry-after` as an HTTP date N seconds ahead" }),
  hint("retry-after-ms-N", { form: "ms", does: "429 with `retry-after-ms: N`" }),
  hint("x-ratelimit-N", {
    form: "x-ratelimit",
    does: "429 with `x-ratelimit-limit-`, `-remaining-` and `-reset-` of requests and tokens, reset in N seconds",
  }),
  hint("anthropic-ratelimit-N", {
    form: "anthropic-ratelimit",
    does: "429 with `anthropic-ratelimit-requests-` and `-tokens-`, reset in N seconds",
  }),
  hint("retry-info-N", { form: "retry-info", does: "429, in Gemini's shape with a `RetryInfo` of N seconds" }),
  ...staged("stall", {
    early: "silence until the caller leaves",
    does: "silence after N events, until the caller leaves",
  }),
  ...staged("cut", {
    early: "the connection closed (FIN) without an answer",
    does: "the connection closed (FIN) after N events, without the final chunk",
  }),
  ...staged("reset", {
    early: "the connection reset (RST) without an answer",
    does: "the connection reset (RST) after N events",
  }),
  ...staged("end", { does: "a clean end after N events, without the terminal event" }),
  ...staged("garbage", { does: "bytes that are nothing after N events, then a clean end" }),
  ...staged("broken-json", { does: "half of an event's JSON after N events; the rest follows whole" }),
  ...staged("error", { does: "the vendor's error inside a 200 after N events; 0: as the first event" }),
  { word: "html", does: "a page of HTML with status 200", wish: () => ({ html: true }) },
  {
    word: "split-N",
    from: 1,
    does: "the body written in pieces of N bytes",
    wish: (splitBytes) => ({ splitBytes }),
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
    does: "N milliseconds to the first token, or before a whole answer",
    wish: (firstTokenMs) => ({ firstTokenMs }),
  },
  {
    word: "tokens-per-second-N",
    from: 1,
    does: "N tokens a second after the first",
    wish: (tokensPerSecond) => ({ tokensPerSecond }),
  },
  {
    word: "ending-ms-N",
    does: "N milliseconds of silence before the last event with usage, and again after it; streams only",
    wish: (endingMs) => ({ endingMs }),
  },
  {
    word: "jitter-N",
    to: 100,
    does: "each wait up to N per cent shorter or longer",
    wish: (jitterPercent) => ({ jitterPercent }),
  },
]

const SEPARATOR = "."

const matchers = WORDS.map((word) => ({ word, pattern: new RegExp(`^${word.word.replace("N", "(\\d{1,7})")}$`) }))

/** What words joined by `.` ask for; undefined when one of them is none of ours. */
export function readWords(said: string): Wishes | undefined {
  let wishes = NO_WISHES
  for (const word of said.split(SEPARATOR)) {
    const wish = readWord(word)
    if (!wish) return undefined
    wishes = joined(wishes, wish)
  }
  return wishes
}

function readWord(said: string): Partial<Wishes> | undefined {
  for (const { word, pattern } of matchers) {
    const match = pattern.exec(said)
    if (!match) continue
    const number = Number(match[1] ?? 0)
    const { from = 0, to = MAX_NUMBER } = word
    const isWithin = match[1] === undefined || (number >= from && number <= to)
    return isWithin ? word.wish(number) : undefined
  }
  return undefined
}

/** Of two that cannot both hold, the later. */
export function joined(wishes: Wishes, more: Partial<Wishes>): Wishes {
  return {
    ...wishes,
    ...more,
    hints: [...wishes.hints, ...(more.hints ?? [])],
    faults: [...wishes.faults, ...(more.faults ?? [])],
  }
}

export interface SplitName {
  readonly name: string
  /** With its `@`; empty where the name ends in none. */
  readonly suffix: string
  readonly wishes: Wishes
}

/** A model's name and what its suffix asks for. What is not of the grammar is part of the name. */
export function splitName(said: string): SplitName {
  const at = said.lastIndexOf("@")
  const wishes = at < 1 ? undefined : readWords(said.slice(at + 1))
  if (!wishes) return { name: said, suffix: "", wishes: NO_WISHES }
  return { name: said.slice(0, at), suffix: said.slice(at), wishes }
}

/** The words as rows of the documentation's table. */
export function wordRows(): string[] {
  return WORDS.map(({ word, from, to, does }) => `| \`${word}\` | ${range({ word, from, to })} | ${does} |`)
}

function range({ word, from = 0, to }: Pick<Word, "word"> & { from: number | undefined; to: number | undefined }) {
  if (!word.includes("N")) return ""
  return to === undefined ? `from ${from}` : `${from} to ${to}`
}
