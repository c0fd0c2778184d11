// Most events of a stream are alike but for a word or a counter. A stencil is learnt from two of them and from what was
// passed on for each; what fits it afterwards passes without being read, at little more than the cost of a copy.

/** A frame's raw text, and what of it was passed on. */
export interface PassedFrame {
  readonly raw: string
  readonly passed: string
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const ZERO = 0x30
const NINE = 0x39
/** What may follow a backslash; where it is `u`, which wants more after it, the frame is better read. */
const ESCAPES: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'))

type HoleKind = "string" | "number"

/** The members in which similar frames may differ; true for those that carry output text. */
export type MayVary = ReadonlyMap<string, boolean>

/** Called with the position of output text, as JSON, in the bytes. */
export type OnStencilText = (bytes: Uint8Array, from: number, to: number) => void

export class FrameStencil {
  private constructor(
    /** The bytes before, between and after the holes, as they come and as they go. */
    private readonly fixed: readonly Uint8Array[],
    private readonly passed: readonly Uint8Array[],
    private readonly holes: readonly HoleKind[],
    /** Of each hole, whether it says something. */
    private readonly carriesText: readonly boolean[],
    /** The bytes of all of `passed`. */
    private readonly passedLength: number,
  ) {}

  /** The stencil both fit, if they differ in nothing but the values of members of these names. */
  static between(before: PassedFrame, after: PassedFrame, mayVary: MayVary): FrameStencil | undefined {
    const come = compareFrames(before.raw, after.raw)
    const go = compareFrames(before.passed, after.passed)
    if (!come || !go || come.values.length === 0) return undefined
    if (come.values.join("\n") !== go.values.join("\n") || !come.names.every((name) => mayVary.has(name)))
      return undefined
    const passed = go.fixed.map(bytesOf)
    return new FrameStencil(
      come.fixed.map(bytesOf),
      passed,
      come.values.map((value) => (value.startsWith('"') ? "string" : "number")),
      come.names.map((name) => mayVary.get(name) === true),
      passed.reduce((sum, { length }) => sum + length, 0),
    )
  }

  /** What passes for these bytes, if they are one or more whole frames that fit; undefined if they have to be read. */
  pass(bytes: Uint8Array, onText: OnStencilText): Uint8Array<ArrayBuffer> | undefined {
    const borders = this.fit(bytes)
    if (!borders) return undefined
    for (let border = 0; border < borders.length; border += 2) {
      if (this.carriesText[(border / 2) % this.holes.length]) {
        onText(bytes, borders[border] as number, borders[border + 1] as number)
      }
    }
    return this.fill(bytes, borders)
  }

  /** Where each hole's content begins and ends. */
  private fit(bytes: Uint8Array): number[] | undefined {
    const { fixed, holes } = this
    const borders: number[] = []
    let at = 0
    while (at < bytes.length) {
      for (let part = 0; part < fixed.length; part++) {
        const text = fixed[part] as Uint8Array
        if (!matchesBytesAt(bytes, at, text)) return undefined
        at += text.length
        if (part === holes.length) break
        const end = holes[part] === "string" ? stringEnd(bytes, at) : digitsEnd(bytes, at)
        if (end < 0) return undefined
        borders.push(at, end)
        at = end
      }
    }
    return borders
  }

  private fill(bytes: Uint8Array, borders: readonly number[]): Uint8Array<ArrayBuffer> {
    const { passed, holes } = this
    let length = (borders.length / 2 / holes.length) * this.passedLength
    for (let border = 0; border < borders.length; border += 2) {
      length += (borders[border + 1] as number) - (borders[border] as number)
    }
    const out = new Uint8Array(length)
    let at = 0
    for (let border = 0; border < borders.length; ) {
      for (let part = 0; part < passed.length; part++) {
        const text = passed[part] as Uint8Array
        out.set(text, at)
        at += text.length
        if (part === holes.length) break
        const end = borders[border + 1] as number
        for (let from = borders[border] as number; from < end; from++) out[at++] = bytes[from] as number
        border += 2
      }
    }
    return out
  }
}

function matchesBytesAt(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  if (at + text.length > bytes.length) return false
  for (let index = 0; index < text.length; index++) if (bytes[at + index] !== text[index]) return false
  return true
}

/** The place of the quote that ends a string; -1 where the string is not one every parser takes. */
function stringEnd(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    const code = bytes[at] as number
    if (code === QUOTE) return at
    if (code < SPACE) return -1
    if (code === BACKSLASH && !ESCAPES.has(bytes[++at] ?? 0)) return -1
  }
  return -1
}

/** The place after a whole number; -1 where there is none, or one with a zero before it. */
function digitsEnd(bytes: Uint8Array, from: number): number {
  let at = from
  while (at < bytes.length && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at++
  return at === from || (bytes[from] === ZERO && at > from + 1) ? -1 : at
}

/** Strings and whole numbers: all that may differ. */
const VALUE = /"(?:[^"\\]|\\.)*"|(?<![\w.+-])\d+(?![\w.+-])/g
const NAME = /"((?:[^"\\]|\\.)*)"\s*:\s*"?$/

interface FrameComparison {
  /** The second text without what differs from the first; a string's quotes stay. */
  readonly fixed: readonly string[]
  /** What differs, a string with its opening quote only. */
  readonly values: readonly string[]
  /** The name of the member each is the value of. */
  readonly names: readonly string[]
}

/** How two texts differ, if only in whole values of the same kind. */
function compareFrames(before: string, after: string): FrameComparison | undefined {
  const others = [...before.matchAll(VALUE)]
  const own = [...after.matchAll(VALUE)]
  if (own.length !== others.length || before.replace(VALUE, "") !== after.replace(VALUE, "")) return undefined
  const fixed: string[] = []
  const values: string[] = []
  const names: string[] = []
  let at = 0
  for (const [index, { 0: value, index: start }] of own.entries()) {
    const other = others[index]?.[0]
    if (other === value) continue
    const isString = value.startsWith('"')
    if (other?.startsWith('"') !== isString) return undefined
    const text = after.slice(at, isString ? start + 1 : start)
    const name = NAME.exec(text)?.[1]
    if (name === undefined) return undefined
    fixed.push(text)
    values.push(isString ? value.slice(0, -1) : value)
    names.push(name)
    at = isString ? start + value.length - 1 : start + value.length
  }
  fixed.push(after.slice(at))
  return { fixed, values, names }
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "latin1"))
}
