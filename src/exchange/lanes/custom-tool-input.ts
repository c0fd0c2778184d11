// Custom tool input for upstreams that support only functions: the upstream streams `{"input": "…"}`, and the caller gets
// the string's content as it arrives.

const OPENING = /^\s*\{\s*"input"\s*:\s*"/
/** The opening quote comes within this many characters. */
const MAX_OPENING = 64
/** An escape that the next piece may still complete: a backslash, `\u` and less than four digits, half of a pair. */
const UNFINISHED = /\\(?:u[0-9a-fA-F]{0,3})?$|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?$/

export class CustomToolInput {
  private state: "before" | "inside" | "behind" | "other" = "before"
  private waiting = ""

  /** What of the input is known by this piece of the arguments. */
  push(piece: string): string {
    this.waiting += piece
    if (this.state === "before") this.open()
    if (this.state === "other") return this.take(this.waiting.length)
    return this.state === "inside" ? this.read() : ""
  }

  /** What is left when there is no more. */
  finish(): string {
    if (this.state === "behind") return ""
    if (this.state === "before") return inputOf(this.waiting) ?? this.waiting
    return this.take(this.waiting.length)
  }

  private open(): void {
    const opening = OPENING.exec(this.waiting)
    if (opening) {
      this.state = "inside"
      this.take(opening[0].length)
    } else if (this.waiting.length > MAX_OPENING) this.state = "other"
  }

  private read(): string {
    const end = closingQuote(this.waiting)
    if (end >= 0) {
      const text = unescapeJson(this.take(end))
      this.state = "behind"
      this.waiting = ""
      return text
    }
    return unescapeJson(this.take(UNFINISHED.exec(this.waiting)?.index ?? this.waiting.length))
  }

  private take(length: number): string {
    const taken = this.waiting.slice(0, length)
    this.waiting = this.waiting.slice(length)
    return taken
  }
}

/** The input in a function's arguments; undefined where they are anything else. */
export function inputOf(args: string): string | undefined {
  try {
    const value: unknown = JSON.parse(args)
    const isInput = typeof value === "object" && value !== null && "input" in value && typeof value.input === "string"
    return isInput ? (value.input as string) : undefined
  } catch {
    return undefined
  }
}

function closingQuote(text: string): number {
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text[at - 1 - slashes] === "\\") slashes++
    if (slashes % 2 === 0) return at
  }
  return -1
}

/** A model may write invalid JSON; it is passed on as written. */
function unescapeJson(inner: string): string {
  try {
    return JSON.parse(`"${inner}"`)
  } catch {
    return inner
  }
}
