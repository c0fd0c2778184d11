// Finds the known name nearest to an unknown one, for suggestions in errors.

/** The known name within a small edit distance of `name`; undefined if none is near. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    const longer = Math.max(name.length, candidate.length)
    const allowed = Math.min(Math.max(1, Math.floor(longer / 3)), longer - 1)
    // The lengths alone exclude most names, and keep a huge name cheap.
    if (Math.abs(name.length - candidate.length) > allowed) continue
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase())
    if (distance > allowed || distance >= least) continue
    nearest = candidate
    least = distance
  }
  return nearest
}

/** The end of an error message about an unknown name: the nearest known one, or all of them. */
export function suggestKnownName(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known)
  if (nearest !== undefined) return `did you mean ${quoteName(nearest)}?`
  return known.length === 0 ? "none is known" : `known: ${known.join(", ")}`
}

/** A foreign name as it may be printed: on one line, without control characters, bounded. */
export function quoteName(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name)
}

/** Insertions, deletions, substitutions and swaps of neighbours that turn one text into the other. */
export function editDistance(one: string, other: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= one.length; row++) {
    const current = [row]
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1]
      let least = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1))
      const swapped = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      if (swapped) least = Math.min(least, at(beforeLast, column - 2) + 1)
      current.push(least)
    }
    beforeLast = last
    last = current
  }
  return at(last, other.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
