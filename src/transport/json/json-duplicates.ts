// Names that an object inside JSON text holds twice: one parser reads the first, another the last. For a check that must
// see both, the later ones are given names of their own. The text is known to parse.

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const SPACE = 0x20

/** The text with every repeated name made another; the text itself where every object names its members once. */
export function renameDuplicates(text: string): string {
  const objects: Map<string, number>[] = []
  let out = ""
  let copied = 0
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (code === OPEN_BRACE) objects.push(new Map())
    else if (code === CLOSE_BRACE) objects.pop()
    if (code !== QUOTE) {
      at++
      continue
    }
    const end = stringEnd(text, at)
    const count = isName(text, end) ? countName(objects.at(-1), JSON.parse(text.slice(at, end))) : 1
    if (count > 1) {
      out += `${text.slice(copied, end - 1)}#${count}`
      copied = end - 1
    }
    at = end
  }
  return copied === 0 ? text : out + text.slice(copied)
}

/** How often the object has named this member so far, this time included. */
function countName(names: Map<string, number> | undefined, name: string): number {
  const count = (names?.get(name) ?? 0) + 1
  names?.set(name, count)
  return count
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
