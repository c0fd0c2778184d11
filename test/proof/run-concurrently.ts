/** Runs `act` for each item with limited concurrency and returns the results in the items' order. */
export async function runConcurrently<Item, Result>(
  items: readonly Item[],
  { atOnce, act }: { readonly atOnce: number; readonly act: (item: Item, index: number) => Promise<Result> },
): Promise<Result[]> {
  const results: Result[] = []
  const waiting = items.entries()
  const work = async () => {
    for (const [index, item] of waiting) results[index] = await act(item, index)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work))
  return results
}
