// Finds the position where a text stops being JSON: the runtime's parser reports the fault but not its position.

/** Counted from 1; the column in UTF-16 units. */
export interface TextPosition {
  readonly line: number
  readonly column: number
}

/** The position of the first character that no JSON text can have there; undefined if the text is JSON. */
export function findJsonFault(text: string): TextPosition | undefined {
  const offset = new JsonScan(text).faultAt()
  return offset === undefined ? undefined : positionAt(text, offset)
}

/** A parser's message with the position of the fault. */
export function describeJsonFault(text: string, cause: unknown): string {
  const what = cause instanceof Error ? cause.message.replace(/^JSON Parse error: /, "") : "syntax error"
  const fault = findJsonFault(text)
  return fault ? `${what} (line ${fault.line}, column ${fault.column})` : what
}

function positionAt(text: string, offset: number): TextPosition {
  let line = 1
  let lineStart = 0
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) {
    line++
    lineStart = at + 1
  }
  return { line, column: offset - lineStart + 1 }
}

/** The tokens that may follow. */
type ExpectedToken = "value" | "value or ]" | "name" | "name or }" | "more"

/** Keeps its own stack: a text may nest deeper than the call stack allows. */
class JsonScan {
  private at = 0
  private readonly open: ("{" | "[")[] = []

  constructor(private readonly text: string) {}

  faultAt(): number | undefined {
    let expected: ExpectedToken | undefined = "value"
    while (true) {
      this.skipSpace()
      if (expected === "more" && this.open.length === 0) return this.at < this.text.length ? this.at : undefined
      const next: ExpectedToken | undefined = this.step(expected)
      if (next === undefined) return this.at
      expected = next
    }
  }

  /** Reads one token; undefined if it is wrong, and then the position is the fault's. */
  private step(expected: ExpectedToken): ExpectedToken | undefined {
    const character = this.text[this.at]
    if (expected === "more") return this.readSeparator(character)
    if (expected === "value or ]" && character === "]") return this.close()
    if (expected === "name or }" && character === "}") return this.close()
    if (expected === "name" || expected === "name or }") return this.readName() ? "value" : undefined
    if (character === "{") return this.enter("{")
    if (character === "[") return this.enter("[")
    return this.readScalar(character) ? "more" : undefined
  }

  private enter(bracket: "{" | "["): ExpectedToken {
    this.open.push(bracket)
    this.at++
    return bracket === "{" ? "name or }" : "value or ]"
  }

  private close(): ExpectedToken {
    this.open.pop()
    this.at++
    return "more"
  }

  private readSeparator(character: string | undefined): ExpectedToken | undefined {
    const isObject = this.open.at(-1) === "{"
    if (character === (isObject ? "}" : "]")) return this.close()
    if (character !== ",") return undefined
    this.at++
    return isObject ? "name" : "value"
  }

  private readName(): boolean {
    if (!this.readString()) return false
    this.skipSpace()
    if (this.text[this.at] !== ":") return false
    this.at++
    return true
  }

  private readScalar(character: string | undefined): boolean {
    if (character === '"') return this.readString()
    const word = WORDS.find((each) => this.text.startsWith(each, this.at))
    if (word !== undefined) {
      this.at += word.length
      return true
    }
    NUMBER.lastIndex = this.at
    if (!NUMBER.test(this.text)) return false
    this.at = NUMBER.lastIndex
    return true
  }

  private readString(): boolean {
    if (this.text[this.at] !== '"') return false
    this.at++
    while (this.at < this.text.length) {
      const character = this.text[this.at] ?? ""
      if (character < " ") return false
      if (character === '"') {
        this.at++
        return true
      }
      if (character === "\\" && !this.readEscape()) return false
      if (character !== "\\") this.at++
    }
    return false
  }

  private readEscape(): boolean {
    ESCAPE.lastIndex = this.at
    if (!ESCAPE.test(this.text)) return false
    this.at = ESCAPE.lastIndex
    return true
  }

  private skipSpace(): void {
    while (SPACES.includes(this.text[this.at] ?? "x")) this.at++
  }
}

const SPACES = " \t\n\r"
const WORDS = ["true", "false", "null"]
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
