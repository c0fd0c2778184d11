// Polls for a condition that has no event.

/** Resolves as soon as `holds` does; an Error after `withinMs`. */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  { withinMs = 5000, what = "it" }: { withinMs?: number; what?: string } = {},
): Promise<void> {
  const end = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`${what} did not happen within ${withinMs} ms`)
    await Bun.sleep(10)
  }
}

/** The value of `promise`; an Error after `withinMs`. */
export async function within<T>(promise: Promise<T>, withinMs: number, what = "it"): Promise<T> {
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
