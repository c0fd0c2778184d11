// Walks JSON text without parsing it: bounds its depth and its number of values before a parser may touch it, and
// notes where the members of the outermost object stand. Says nothing about syntax: a parser still has to accept it.
import type { NameWatch } from "./name-watch.ts"

export interface JsonLimits {
  readonly maxDepth: number
  readonly maxValues: number
  /** Of the outermost object. */
  readonly maxMembers: number
}

export class JsonLimitError extends Error {
  override readonly name = "JsonLimitError"
  constructor(
    readonly limit: keyof JsonLimits,
    readonly allowed: number,
  ) {
    super(`JSON exceeds ${limit} ${allowed}`)
  }
}

/** One member of an object; `start` is its name's opening quote, `end` the place after its value. */
export interface JsonMember {
  readonly name: string
  readonly start: number
  readonly valueStart: number
  end: number
}

/** The outermost object of a text. */
export interface JsonOutline {
  /** The place after `{`. */
  readonly open: number
  readonly members: readonly JsonMember[]
  /** Whether a name was found, at any depth, that the watch reports. */
  readonly holdsWatched?: boolean
}

/** Names to look for on the way. */
export interface NameWatchOptions {
  /** Of the outermost object's members, and of those of all objects inside. */
  readonly outer: NameWatch
  readonly inner: NameWatch
  /** Whether the text holds no byte beyond ASCII. */
  readonly isAscii: boolean
}

const UNBOUNDED: JsonLimits = {
  maxDepth: Number.POSITIVE_INFINITY,
  maxValues: Number.POSITIVE_INFINITY,
  maxMembers: Number.POSITIVE_INFINITY,
}

/** The outline of the object that fills `text`, or undefined where it is not one complete object. */
export function outlineJson(
  text: string,
  limits: JsonLimits = UNBOUNDED,
  watch?: NameWatchOptions,
): JsonOutline | undefined {
  const scanner = new JsonScanner(text, limits, watch)
  scanner.advance(text.length)
  return scanner.outline()
}

/** As `outline`, but lets the event loop turn after each `sliceLength` characters. */
export async function outlineJsonInSlices(
  text: string,
  { limits, sliceLength }: { limits: JsonLimits; sliceLength: number },
): Promise<JsonOutline | undefined> {
  const scanner = new JsonScanner(text, limits)
  for (let until = sliceLength; !scanner.advance(until); until += sliceLength) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  return scanner.outline()
}

export function findMember(outlined: JsonOutline, name: string): JsonMember | undefined {
  for (const member of outlined.members) if (member.name === name) return member
  return undefined
}

/** The name of a member that occurs twice in the outline: parsers may read such a text differently. */
export function duplicateMember(outlined: JsonOutline): string | undefined {
  const { members } = outlined
  if (members.length <= FEW) return duplicateAmongFew(members)
  const seen = new Set<string>()
  for (const { name } of members) {
    if (seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}

/** Among so few, comparing each with each costs less than a set. */
const FEW = 16

function duplicateAmongFew(members: readonly JsonMember[]): string | undefined {
  for (let at = 1; at < members.length; at++) {
    const name = members[at]?.name
    for (let before = 0; before < at; before++) if (members[before]?.name === name) return name
  }
  return undefined
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const SPACE = 0x20

class JsonScanner {
  private at = 0
  private depth = 0
  private values = 0
  /** The place after `{` once it was seen; -1 when the text does not start with an object. */
  private open = -1
  private closed = false
  private broken = false
  /** The opening quote of the string the scan is in; -1 outside of strings. */
  private stringStart = -1
  private keyStart = -1
  private keyEnd = -1
  private valueStart = -1
  /** The place after the last character that was not white space. */
  private lastEnd = 0
  private readonly members: JsonMember[] = []
  /** Absent where no name is looked for, or one was found. */
  private outer: NameWatch | undefined
  private inner: NameWatch | undefined
  /** Whether names may hold escapes or bytes beyond ASCII. */
  private readonly isPlain: boolean
  private holdsWatched = false

  constructor(
    private readonly text: string,
    private readonly limits: JsonLimits,
    watch?: NameWatchOptions,
  ) {
    this.outer = watch?.outer
    this.inner = watch?.inner
    this.isPlain = watch?.isAscii === true && !text.includes("\\u")
  }

  /** Scans up to about `until`; true when the whole text has been seen. */
  advance(until: number): boolean {
    const { text } = this
    const stop = Math.min(until, text.length)
    while (this.at < stop) {
      if (this.stringStart >= 0) {
        this.seekStringEnd()
        continue
      }
      if (this.depth > 1) {
        this.skipNested(stop)
        continue
      }
      const code = text.charCodeAt(this.at)
      if (code <= SPACE) {
        this.at++
        continue
      }
      if (this.closed) this.broken = true
      if (code === QUOTE && this.depth === 1 && this.keyStart < 0 && this.takePlain()) continue
      this.step(code)
      if (this.broken) this.at = text.length
      else this.lastEnd = this.at
    }
    return this.at >= text.length
  }

  /** Takes a name, and a value that does not nest, in one go where neither holds an escaped quote. Most members are such. */
  private takePlain(): boolean {
    const { text, at: keyStart } = this
    const keyEnd = plainStringEnd(text, keyStart)
    if (keyEnd < 0) return false
    this.keyStart = keyStart
    this.keyEnd = keyEnd
    let at = skipSpace(text, keyEnd)
    if (text.charCodeAt(at) === COLON) {
      at = skipSpace(text, at + 1)
      const code = text.charCodeAt(at)
      const end = code === QUOTE ? plainStringEnd(text, at) : wordEnd(text, at)
      if (end > at) {
        this.valueStart = at
        at = end
      }
    }
    this.at = at
    this.lastEnd = at
    return true
  }

  /** Inside of a member's value only depth and number count. Most of a text is there, so it has a loop on locals. */
  private skipNested(stop: number): void {
    const { text, limits } = this
    let { at, depth, values } = this
    while (at < stop && depth > 1) {
      const code = text.charCodeAt(at++)
      if (code === QUOTE) {
        const start = at
        at = stringEnd(text, start, stop)
        if (at < 0) {
          at = start
          this.stringStart = start - 1
          break
        }
        if (this.inner !== undefined && isName(text, at)) this.look(this.inner, start, at - 1)
      } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
        if (++depth > limits.maxDepth) throw new JsonLimitError("maxDepth", limits.maxDepth)
        values++
      } else if (code === COMMA) values++
      else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--
    }
    if (values > limits.maxValues) throw new JsonLimitError("maxValues", limits.maxValues)
    this.at = at
    this.lastEnd = at
    this.depth = depth
    this.values = values
  }

  outline(): JsonOutline | undefined {
    const { open, members, holdsWatched } = this
    return this.closed && !this.broken ? { open, members, holdsWatched } : undefined
  }

  private step(code: number): void {
    if (code === QUOTE) {
      this.stringStart = this.at++
      if (this.depth === 0) this.broken = true
      return
    }
    const at = this.at++
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (this.depth === 0) {
        if (code === OPEN_BRACE) this.open = this.at
      } else if (this.depth === 1 && this.keyEnd >= 0 && this.valueStart < 0) this.valueStart = at
      if (++this.depth > this.limits.maxDepth) throw new JsonLimitError("maxDepth", this.limits.maxDepth)
      this.count()
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) this.close(at)
    else if (code === COMMA) {
      if (this.depth === 1) this.endMember()
      this.count()
    } else if (this.depth === 0) this.broken = true
    else if (this.depth === 1 && code !== COLON && this.keyEnd >= 0 && this.valueStart < 0) this.valueStart = at
  }

  private close(at: number): void {
    if (this.depth === 1) {
      this.endMember()
      this.closed = this.open >= 0 && this.text.charCodeAt(at) === CLOSE_BRACE
      this.broken ||= !this.closed
    }
    if (--this.depth < 0) this.broken = true
  }

  /** Moves to the next quote; a string full of escaped ones takes as many steps, so that slices stay slices. */
  private seekStringEnd(): void {
    const quote = this.text.indexOf('"', this.at)
    if (quote < 0) {
      this.broken = true
      this.at = this.text.length
      return
    }
    this.at = quote + 1
    if (!isEscaped(this.text, quote)) this.endString()
  }

  private endString(): void {
    const start = this.stringStart
    this.stringStart = -1
    this.lastEnd = this.at
    if (this.depth !== 1) {
      if (this.inner && isName(this.text, this.at)) this.look(this.inner, start + 1, this.at - 1)
      return
    }
    if (this.keyStart < 0) {
      this.keyStart = start
      this.keyEnd = this.at
    } else if (this.valueStart < 0) this.valueStart = start
  }

  private endMember(): void {
    if (this.open < 0) return
    if (this.keyStart >= 0 && this.valueStart >= 0) {
      if (this.outer) this.look(this.outer, this.keyStart + 1, this.keyEnd - 1)
      this.members.push({
        name: memberName(this.text, this.keyStart + 1, this.keyEnd - 1),
        start: this.keyStart,
        valueStart: this.valueStart,
        end: this.lastEnd,
      })
      if (this.members.length > this.limits.maxMembers) throw new JsonLimitError("maxMembers", this.limits.maxMembers)
    }
    this.keyStart = -1
    this.keyEnd = -1
    this.valueStart = -1
  }

  /** Compares the name at this position; after one is reported, the search ends. */
  private look(watch: NameWatch, start: number, end: number): void {
    const { text } = this
    const isReported = this.isPlain ? watch.reports(text, start, end) : watch.reportsAny(text, start, end)
    if (!isReported) return
    this.holdsWatched = true
    this.outer = undefined
    this.inner = undefined
  }

  private count(): void {
    if (++this.values > this.limits.maxValues) throw new JsonLimitError("maxValues", this.limits.maxValues)
  }
}

/** The place after the string that begins here; -1 where its first quote to come may be an escaped one. */
function plainStringEnd(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1)
  return quote < 0 || text.charCodeAt(quote - 1) === BACKSLASH ? -1 : quote + 1
}

/** The position after the string that starts here; -1 where it does not end before `stop`. */
function stringEnd(text: string, start: number, stop: number): number {
  let quote = text.indexOf('"', start)
  while (quote >= 0 && isEscaped(text, quote)) quote = quote < stop ? text.indexOf('"', quote + 1) : -1
  return quote + 1 || -1
}

function isEscaped(text: string, quote: number): boolean {
  let before = quote - 1
  while (text.charCodeAt(before) === BACKSLASH) before--
  return (quote - before) % 2 === 0
}

/** Whether the string that ends here is a member's name. */
function isName(text: string, end: number): boolean {
  let code = text.charCodeAt(end)
  for (let at = end + 1; code <= SPACE; at++) code = text.charCodeAt(at)
  return code === COLON
}

/** What is longer than this is left to the scan in slices. */
const MAX_IN_ONE_GO = 1024

function skipSpace(text: string, from: number): number {
  const last = from + MAX_IN_ONE_GO
  let at = from
  while (at < last && text.charCodeAt(at) <= SPACE) at++
  return at
}

/** The place after a number or a literal; `at` itself where there is none. */
function wordEnd(text: string, start: number): number {
  const last = start + MAX_IN_ONE_GO
  let at = start
  while (at < last && isWord(text.charCodeAt(at))) at++
  return at
}

/** Digits, letters, and what else numbers hold. */
function isWord(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x7a) || code === 0x2d || code === 0x2e || code === 0x2b
  )
}

/** A name as a parser would read it: `"mod\u0065l"` names `model`. */
function memberName(text: string, start: number, end: number): string {
  const raw = text.slice(start, end)
  for (let at = start; at < end; at++) if (text.charCodeAt(at) === BACKSLASH) return unescapeName(raw)
  return raw
}

function unescapeName(raw: string): string {
  try {
    return JSON.parse(`"${raw}"`)
  } catch {
    return raw
  }
}
