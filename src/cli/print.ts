// Output helpers: results go to standard output, errors to standard error.

export function print(text: string): void {
  if (process.stdout.listenerCount("error", ignoreClosedPipe) === 0) process.stdout.on("error", ignoreClosedPipe)
  process.stdout.write(`${text}\n`)
}

/** A reader such as `head` may leave before all is written. */
function ignoreClosedPipe(error: Error & { readonly code?: string }): void {
  if (error.code !== "EPIPE") throw error
}

export function printError(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** The balance after a top-up. */
export function describeTopUp(name: string, { balance, debt }: { balance: string | null; debt?: string }): string {
  const owes = debt === undefined ? "" : ` and still owes ${debt} USD`
  return `${name} has ${balance} USD to spend${owes}.`
}

export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")
}
