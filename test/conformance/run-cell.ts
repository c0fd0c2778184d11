// Runs cells, one after the other: an upstream has one answer to give at a time.
import { type CellName, CLIENTS, FEATURE_NAMES, isSupportedBy, modelOf, UPSTREAMS } from "./axes.ts"
import { MatrixCell, RefusedRequest } from "./cell.ts"
import { cells } from "./cells/cells.ts"
import { clients } from "./clients/clients.ts"
import { refusalOf } from "./refusals.ts"
import type { MatrixStage } from "./stage.ts"

export interface CellResult extends CellName {
  readonly status: "passes" | "refused" | "fails"
  /** Why it fails: what was expected, and what was seen. */
  readonly problems: readonly string[]
  /** Notes about a cell that passes or is refused. */
  readonly notes: readonly string[]
}

/** Every cell there is, in the order of the tables. */
export function allCells(): CellName[] {
  return CLIENTS.flatMap((client) =>
    FEATURE_NAMES.filter((feature) => isSupportedBy(feature, client)).flatMap((feature) =>
      UPSTREAMS.map((upstream) => ({ client, upstream, feature })),
    ),
  )
}

export async function runCell(name: CellName, stage: MatrixStage): Promise<CellResult> {
  const host = stage.hosts.get(name.upstream)
  if (!host) throw new Error(`there is no upstream for ${name.upstream}`)
  const connection = { gateway: stage.gateway, key: stage.key, model: modelOf(name.upstream) }
  const cell = new MatrixCell(name, { client: clients[name.client](connection), host })
  const documented = refusalOf(name)
  const result = (status: CellResult["status"], problems: readonly string[] = []): CellResult => {
    const notes = documented && status === "refused" ? [documented.why] : [...cell.notes]
    return { ...name, status, problems, notes }
  }
  try {
    await cells[name.feature](cell)
  } catch (thrown) {
    if (!(thrown instanceof RefusedRequest)) return result("fails", [...cell.problems, messageOf(thrown)])
    if (documented && cell.problems.length === 0) return result("refused")
    return result("fails", [...cell.problems, `it is refused, and that is not documented: ${thrown.message}`])
  }
  if (documented) return result("fails", ["it is documented as refused, and is not: take it out of refusals.ts"])
  return cell.problems.length > 0 ? result("fails", [...new Set(cell.problems)]) : result("passes")
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
