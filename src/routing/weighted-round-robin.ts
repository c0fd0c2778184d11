// The default order of candidates: by priority; within a priority, shares by weight. Among equals, endpoints of the
// client's protocol come first, each equally often.
import type { RouteCandidate } from "./candidate-set.ts"
import type { PlanInput } from "./plan-input.ts"

type CandidateRow = readonly RouteCandidate[]

/** Expects candidates in the order of the catalogue: by model, by priority, the heaviest first, by row. */
export function weightedRoundRobin(candidates: RouteCandidate[], { rotation, protocol }: PlanInput): RouteCandidate[] {
  if (candidates.length < 2) return candidates
  const ordered: RouteCandidate[] = []
  for (let start = 0; start < candidates.length; ) {
    const end = priorityEnd(candidates, start)
    pushByWeight(rowsIn(candidates.slice(start, end)), { rotation, protocol, to: ordered })
    start = end
  }
  return ordered
}

/** The end of the candidates with the same model and priority. */
function priorityEnd(candidates: readonly RouteCandidate[], start: number): number {
  const first = candidates[start]
  let end = start + 1
  for (; end < candidates.length; end++) {
    const each = candidates[end]
    if (each?.model !== first?.model || each?.row.priority !== first?.row.priority) break
  }
  return end
}

function rowsIn(candidates: readonly RouteCandidate[]): CandidateRow[] {
  const rows: RouteCandidate[][] = []
  let last: RouteCandidate | undefined
  for (const each of candidates) {
    if (each.row === last?.row) rows.at(-1)?.push(each)
    else rows.push([each])
    last = each
  }
  return rows
}

interface RotationContext {
  readonly rotation: number
  readonly protocol: string
  readonly to: RouteCandidate[]
}

/** Rows of the same weight. */
interface WeightClass {
  readonly rows: CandidateRow[]
  readonly weight: number
}

/** The row selected by the rotation comes first, then the others, the heaviest first. */
function pushByWeight(rows: CandidateRow[], pushing: RotationContext): void {
  const { rotation } = pushing
  const equals = weightClassesIn(rows)
  if (equals.length === 1) {
    pushWeightClass(rows, pushing)
    return
  }
  const unit = equals.reduce((divisor, { weight }) => commonDivisor(divisor, weight), 0)
  const total = equals.reduce((sum, each) => sum + sharesOf(each, unit), 0)
  const slot = rotation % total
  let before = 0
  const first = equals.find((each) => {
    before += sharesOf(each, unit)
    return slot < before
  })
  if (!first) return
  const shares = sharesOf(first, unit)
  // How often these rows were selected.
  const times = ((rotation - slot) / total) * shares + slot - (before - shares)
  pushWeightClass(first.rows, { ...pushing, rotation: times })
  for (const each of equals) if (each !== first) pushWeightClass(each.rows, pushing)
}

function sharesOf({ rows, weight }: WeightClass, unit: number): number {
  return (rows.length * weight) / unit
}

function weightClassesIn(rows: readonly CandidateRow[]): WeightClass[] {
  const found: WeightClass[] = []
  for (const row of rows) {
    const weight = row[0]?.row.weight ?? 1
    const last = found.at(-1)
    if (last?.weight === weight) last.rows.push(row)
    else found.push({ rows: [row], weight })
  }
  return found
}

function pushWeightClass(rows: readonly CandidateRow[], pushing: RotationContext): void {
  const isAlike = (row: CandidateRow) => row[0]?.protocol === pushing.protocol
  if (rows.every(isAlike)) pushRotated(rows, pushing)
  else {
    pushRotated(rows.filter(isAlike), pushing)
    pushRotated(
      rows.filter((row) => !isAlike(row)),
      pushing,
    )
  }
}

/** Rotates the rows, and then the accounts of each row. */
function pushRotated(rows: readonly CandidateRow[], { rotation, to }: RotationContext): void {
  const round = Math.floor(rotation / rows.length)
  for (let index = 0; index < rows.length; index++) {
    const row = rows[(rotation + index) % rows.length] ?? []
    for (let account = 0; account < row.length; account++) {
      const candidate = row[(round + account) % row.length]
      if (candidate) to.push(candidate)
    }
  }
}

function commonDivisor(one: number, other: number): number {
  return other === 0 ? one : commonDivisor(other, one % other)
}
