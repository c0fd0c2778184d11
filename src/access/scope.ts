// Scopes: the models and protocols that may be used. `*` in a model pattern matches any run of characters, and `one &
// other` matches if both patterns do. A protocol is named by its id or by its family: `openai`, `gemini`.

/** Null is no bound. */
type ScopePatterns = readonly string[] | null

const BOTH = " & "

export function allowsModel(patterns: ScopePatterns, model: string): boolean {
  return patterns === null || patterns.some((pattern) => coversModels(pattern, model))
}

export function allowsProtocol(protocols: ScopePatterns, protocol: string): boolean {
  return protocols === null || protocols.some((word) => coversProtocol(word, protocol))
}

/** True if the first pattern matches everything that the second one matches. */
export function coversModels(pattern: string, other: string): boolean {
  return pattern.split(BOTH).every((each) => other.split(BOTH).some((part) => matchesPattern(each, part)))
}

export function coversProtocol(word: string, other: string): boolean {
  return word === other || other.startsWith(`${word}-`)
}

/** The patterns that both lists allow. */
export function intersectModels(own: ScopePatterns, outer: ScopePatterns): ScopePatterns {
  const join = (one: string, other: string) => one + BOTH + other
  return intersectScopes(own, outer, { covers: coversModels, join })
}

export function intersectProtocols(own: ScopePatterns, outer: ScopePatterns): ScopePatterns {
  return intersectScopes(own, outer, { covers: coversProtocol })
}

interface ScopeIntersection {
  readonly covers: (one: string, other: string) => boolean
  /** The intersection of two patterns of which neither covers the other; absent if it is empty. */
  readonly join?: (one: string, other: string) => string
}

function intersectScopes(own: ScopePatterns, outer: ScopePatterns, { covers, join }: ScopeIntersection): ScopePatterns {
  if (own === null || outer === null) return own ?? outer
  return own.flatMap((one) => {
    if (outer.some((other) => covers(other, one))) return [one]
    return outer.flatMap((other) => (covers(one, other) ? [other] : join ? [join(one, other)] : []))
  })
}

/** If the model is itself a pattern, its `*` is a character that only a `*` matches. */
export function matchesPattern(pattern: string, model: string): boolean {
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
