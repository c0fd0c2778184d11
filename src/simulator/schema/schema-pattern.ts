// Samples a string that matches a regular expression, for the expressions that schemas use: characters, classes,
// groups, choices and repetitions. Lookarounds and backreferences are not supported.

interface PatternOptions {
  readonly minLength: number
  /** Different variants take different characters of a class. */
  readonly variant: number
}

type CharacterRange = readonly [from: number, to: number]

const MAX_LENGTH = 4096
const DIGITS: readonly CharacterRange[] = [range("0", "9")]
const WORD: readonly CharacterRange[] = [range("a", "z"), range("A", "Z"), range("0", "9"), range("_", "_")]
const PRINTABLE: readonly CharacterRange[] = [
  range("a", "z"),
  range("A", "Z"),
  range("0", "9"),
  range(" ", "/"),
  range(":", "@"),
]
const CLASSES: Readonly<Record<string, readonly CharacterRange[]>> = {
  d: DIGITS,
  w: WORD,
  s: [range(" ", " ")],
  D: [range("a", "z")],
  W: [range("-", "-")],
  S: [range("a", "z")],
}
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", f: "\f", v: "\v", "0": "\0" }

class NoPatternSample extends Error {}

export function samplePattern(pattern: string, options: PatternOptions): string | undefined {
  try {
    const shortest = new PatternSampler(pattern, { variant: options.variant, more: 0 }).sample()
    if (shortest.length >= options.minLength) return shortest
    return new PatternSampler(pattern, { variant: options.variant, more: options.minLength - shortest.length }).sample()
  } catch (thrown) {
    if (thrown instanceof NoPatternSample) return undefined
    throw thrown
  }
}

class PatternSampler {
  readonly #pattern: string
  readonly #variant: number
  /** Extra repetitions that remain to reach the minimum length. */
  #more: number
  #at = 0

  constructor(pattern: string, { variant, more }: { variant: number; more: number }) {
    this.#pattern = pattern
    this.#variant = variant
    this.#more = more
  }

  sample(): string {
    const sample = this.#choice()
    if (this.#at < this.#pattern.length) throw new NoPatternSample()
    return sample
  }

  /** The first alternative; the others are skipped. */
  #choice(): string {
    const first = this.#sequence()
    while (this.#take("|")) this.#sequence()
    return first
  }

  #sequence(): string {
    let sample = ""
    while (this.#at < this.#pattern.length && !"|)".includes(this.#peek())) {
      const from = this.#at
      const more = this.#more
      const atom = this.#atom()
      const times = this.#times()
      if (atom.length * times > MAX_LENGTH || sample.length > MAX_LENGTH) throw new NoPatternSample()
      if (times === 0) {
        this.#more = more
        continue
      }
      // A repeated class repeats one character, which matches too.
      sample += atom.repeat(times)
      if (this.#at === from) throw new NoPatternSample()
    }
    return sample
  }

  #atom(): string {
    const character = this.#next()
    if (character === "^" || character === "$") return ""
    if (character === ".") return this.#pick(WORD)
    if (character === "[") return this.#pick(this.#class())
    if (character === "\\") return this.#escape()
    if (character === "(") return this.#group()
    if ("*+?{".includes(character)) throw new NoPatternSample()
    return character
  }

  #group(): string {
    if (this.#take("?") && !this.#take(":")) {
      const name = /^<[^=!>][^>]*>/.exec(this.#pattern.slice(this.#at))
      if (!name) throw new NoPatternSample()
      this.#at += name[0].length
    }
    const sample = this.#choice()
    if (!this.#take(")")) throw new NoPatternSample()
    return sample
  }

  #escape(): string {
    const character = this.#next()
    if (character === "b" || character === "B") return ""
    const ranges = Object.hasOwn(CLASSES, character) ? CLASSES[character] : undefined
    return ranges ? this.#pick(ranges) : this.#literal(character)
  }

  /** The character that an escape denotes. */
  #literal(character: string): string {
    if (Object.hasOwn(CONTROLS, character)) return CONTROLS[character] ?? ""
    const code = { u: /^[\da-f]{4}/i, x: /^[\da-f]{2}/i }[character]?.exec(this.#pattern.slice(this.#at))
    if (code) {
      this.#at += code[0].length
      return String.fromCharCode(Number.parseInt(code[0], 16))
    }
    if (/[1-9a-z]/i.test(character)) throw new NoPatternSample()
    return character
  }

  #class(): readonly CharacterRange[] {
    const isNegated = this.#take("^")
    const ranges: CharacterRange[] = []
    while (!this.#take("]")) {
      const from = this.#classMember()
      if (typeof from !== "string") {
        ranges.push(...from)
        continue
      }
      const isRange = this.#peek() === "-" && this.#pattern[this.#at + 1] !== "]"
      if (isRange) this.#at++
      const to = isRange ? this.#classMember() : from
      if (typeof to !== "string") throw new NoPatternSample()
      ranges.push(range(from, to))
    }
    return isNegated ? outside(ranges) : ranges
  }

  #classMember(): string | readonly CharacterRange[] {
    const character = this.#next()
    if (character !== "\\") return character
    const escaped = this.#next()
    if (escaped === "b") return "\b"
    return (Object.hasOwn(CLASSES, escaped) ? CLASSES[escaped] : undefined) ?? this.#literal(escaped)
  }

  #times(): number {
    const [least, most] = this.#bounds()
    this.#take("?")
    const times = Math.min(least + this.#more, most)
    this.#more -= times - least
    return times
  }

  #bounds(): readonly [least: number, most: number] {
    if (this.#take("*")) return [0, Number.POSITIVE_INFINITY]
    if (this.#take("+")) return [1, Number.POSITIVE_INFINITY]
    if (this.#take("?")) return [0, 1]
    const counted = /^\{(\d+)(,?)(\d*)\}/.exec(this.#pattern.slice(this.#at, this.#at + 24))
    if (!counted) return [1, 1]
    this.#at += counted[0].length
    const least = Number(counted[1])
    if (counted[2] === "") return [least, least]
    return [least, counted[3] === "" ? Number.POSITIVE_INFINITY : Number(counted[3])]
  }

  #pick(ranges: readonly CharacterRange[]): string {
    const size = ranges.reduce((total, [from, to]) => total + to - from + 1, 0)
    let left = size === 0 ? 0 : this.#variant % size
    for (const [from, to] of ranges) {
      if (left <= to - from) return String.fromCharCode(from + left)
      left -= to - from + 1
    }
    throw new NoPatternSample()
  }

  #peek(): string {
    return this.#pattern[this.#at] ?? ""
  }

  #next(): string {
    const character = this.#pattern[this.#at++]
    if (character === undefined) throw new NoPatternSample()
    return character
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false
    this.#at++
    return true
  }
}

function range(from: string, to: string): CharacterRange {
  return [from.charCodeAt(0), to.charCodeAt(0)]
}

function outside(ranges: readonly CharacterRange[]): readonly CharacterRange[] {
  const isIn = (code: number) => ranges.some(([from, to]) => code >= from && code <= to)
  return PRINTABLE.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, at) => from + at))
    .filter((code) => !isIn(code))
    .map((code) => [code, code])
}
