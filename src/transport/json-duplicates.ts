// Finds a name that an object inside JSON text holds twice: two parsers may read such an object differently. The text is
// known to parse.

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const SPACE = 0x20

/** The first such name, at any depth; undefined where every object names its members once. */
export function findDuplicateName(text: string): string | undefined {
  const objects: Set<string>[] = []
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === OPEN_BRACE) objects.push(new Set())
    else if (code === CLOSE_BRACE) objects.pop()
    if (code !== QUOTE) {
      at++
      continue
    }
    const end = stringEnd(text, at)
    if (isName(text, end)) {
      const names = objects.at(-1)
      const name = JSON.parse(text.slice(at, end)) as string
      if (names?.has(name)) return name
      names?.add(name)
    }
    at = end
  }
  return undefined
}

function stringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1
    while (text.charCodeAt(before) === BACKSLASH) before--
    if ((quote - 1 - before) % 2 === 0) return quote + 1
  }
  return text.length
}

function isName(text: string, end: number): boolean {
  let at = end
  while (text.charCodeAt(at) <= SPACE) at++
  return text.charCodeAt(at) === COLON
}
