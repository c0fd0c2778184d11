// Waits for what a test expects to happen.

/** How long a test waits before it gives up. It finds what never happens; it is no bound on how soon it must. */
const PATIENCE_MS = 20_000

/** Polls for a condition that has no event: resolves as soon as `holds` does, an Error after `withinMs`. */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  { withinMs = PATIENCE_MS, what = "it" }: { withinMs?: number; what?: string } = {},
): Promise<void> {
  const end = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`${what} did not happen within ${withinMs} ms`)
    await Bun.sleep(10)
  }
}

/** The value of `promise`; an Error after `withinMs`. */
export async function within<T>(promise: Promise<T>, what: string, withinMs = PATIENCE_MS): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not happen within ${withinMs} ms`)), withinMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
