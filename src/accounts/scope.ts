// Which models a key may call: patterns in which `*` stands for any run of characters.

export function allowsModel(patterns: readonly string[] | null, model: string): boolean {
  return patterns === null || patterns.some((pattern) => matches(pattern, model))
}

function matches(pattern: string, model: string): boolean {
  const [head = "", ...rest] = pattern.split("*")
  if (rest.length === 0) return pattern === model
  const tail = rest.pop() ?? ""
  if (!model.startsWith(head) || !model.endsWith(tail) || model.length < head.length + tail.length) return false
  let at = head.length
  for (const piece of rest) {
    const found = model.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return at <= model.length - tail.length
}
